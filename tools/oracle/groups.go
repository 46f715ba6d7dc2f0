package main

import (
	"context"
	"errors"
	"fmt"
	"sort"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	schedulingv1alpha3 "k8s.io/api/scheduling/v1alpha3"
	schedulingv1beta1 "k8s.io/api/scheduling/v1beta1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	utilfeature "k8s.io/apiserver/pkg/util/feature"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"
	"k8s.io/klog/v2"
	extenderv1 "k8s.io/kube-scheduler/extender/v1"
	fwk "k8s.io/kube-scheduler/framework"
	schedulerconfig "k8s.io/kubernetes/pkg/scheduler/apis/config"
	"k8s.io/kubernetes/pkg/scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/defaultpreemption"
	frameworkruntime "k8s.io/kubernetes/pkg/scheduler/framework/runtime"
)

// groupLine is one line of groups' output: what became of one pending pod.
type groupLine struct {
	Pod      string   `json:"pod"`
	Group    string   `json:"podGroup,omitempty"`
	Node     *string  `json:"node"`
	Reason   string   `json:"reason,omitempty"`
	Messages []string `json:"messages"`          // of its failed attempts, in order
	Waits    string   `json:"waits,omitempty"`   // what PreEnqueue says of a pod that was never tried
	Victims  []string `json:"victims,omitempty"` // at the first pod of the entity that they were evicted for
}

// groupsRun drives the whole scheduler, cycle by cycle, over pods and pod
// groups: each entity is tried until it is placed, or fits nowhere.
type groupsRun struct {
	engine *engine
	lines  map[string]*groupLine
	queue  func(klog.Logger) (framework.QueuedEntityInfo, error)

	mu      sync.Mutex // for the following
	current framework.QueuedEntityInfo
	over    map[string]bool // entities that are not tried any more
	failed  bool            // a pod of the current entity failed
	bound   int
	sent    int
	evicted []*corev1.Pod
}

// groupsMode runs the scheduler's own pod-group cycle (and pod cycle) on the
// pending pods, with synchronous preemption.
func groupsMode(args []string) error {
	f := newFlags("groups", 100, 1)
	c, opts, err := f.load(args)
	if err != nil {
		return err
	}
	if err := setFeatureGates("SchedulerAsyncPreemption=false"); err != nil {
		return err
	}
	if err := createPodGroups(c); err != nil {
		return err
	}
	run := &groupsRun{lines: map[string]*groupLine{}, over: map[string]bool{}}
	opts.withhold = true
	opts.prepare = run.intercept
	opts.registry = frameworkruntime.Registry{binderName: func(context.Context, runtime.Object, fwk.Handle) (fwk.Plugin, error) {
		return &binder{confirm: run.confirm, done: func() {}}, nil
	}}
	for i := range opts.config.Profiles {
		opts.config.Profiles[i].Plugins.Bind = schedulerconfig.PluginSet{
			Enabled: []schedulerconfig.Plugin{{Name: binderName}}, Disabled: []schedulerconfig.Plugin{{Name: "*"}},
		}
	}
	if run.engine, err = newEngine(c, opts); err != nil {
		return err
	}
	defer run.engine.close()
	for _, fw := range run.engine.sched.Profiles {
		if err := makePlacementsReproducible(fw); err != nil {
			return err
		}
		if err := makePreemptionReproducible(fw); err != nil {
			return err
		}
	}
	if err := run.deliver(); err != nil {
		return err
	}
	if err := run.scheduleAll(); err != nil {
		return err
	}
	return run.print()
}

// sortedPlacements hands on what a plugin generates, by name; the plugin does
// so in no order.
type sortedPlacements struct{ fwk.PlacementGeneratePlugin }

func (p sortedPlacements) GeneratePlacements(ctx context.Context, state fwk.PodGroupCycleState, group fwk.PodGroupInfo, parent *fwk.Placement) (*fwk.GeneratePlacementsResult, *fwk.Status) {
	result, status := p.PlacementGeneratePlugin.GeneratePlacements(ctx, state, group, parent)
	if result != nil {
		sort.Slice(result.Placements, func(i, j int) bool { return result.Placements[i].Name < result.Placements[j].Name })
	}
	return result, status
}

// firstPlacement breaks ties between placements in favour of the first by
// name; the scheduler breaks them at random.
type firstPlacement struct{}

func (firstPlacement) Name() string { return "FirstPlacement" }

func (firstPlacement) ScorePlacement(context.Context, fwk.PlacementCycleState, fwk.PodGroupInfo, *fwk.PodGroupAssignments) (int64, *fwk.Status) {
	return 0, nil
}

func (p firstPlacement) PlacementScoreExtensions() fwk.PlacementScoreExtensions { return p }

func (firstPlacement) NormalizePlacementScore(_ context.Context, _ fwk.PodGroupCycleState, _ fwk.PodGroupInfo, scores []fwk.PlacementScore) *fwk.Status {
	for i := range scores {
		scores[i].Score = fwk.MaxScore
		for j := range scores {
			if scores[j].Placement.Name < scores[i].Placement.Name {
				scores[i].Score--
			}
		}
	}
	return nil
}

// makePlacementsReproducible takes chance out of a profile's placements; the
// weights of the other plugins are raised beyond what the tie-break adds.
func makePlacementsReproducible(fw framework.Framework) error {
	generators, err := privatePointer[[]fwk.PlacementGeneratePlugin](fw, "placementGeneratePlugins")
	if err != nil {
		return err
	}
	for i, plugin := range *generators {
		(*generators)[i] = sortedPlacements{plugin}
	}
	scorers, err := privatePointer[[]fwk.PlacementScorePlugin](fw, "placementScorePlugins")
	if err != nil {
		return err
	}
	weights, err := privatePointer[map[string]int](fw, "placementScorePluginWeight")
	if err != nil {
		return err
	}
	for name := range *weights {
		(*weights)[name] *= 1000
	}
	(*weights)["FirstPlacement"] = 1
	*scorers = append(*scorers, firstPlacement{})
	return nil
}

// firstCandidate has preemption for single pods look at all nodes, and take
// the first by name where the scheduler leaves the choice to chance.
type firstCandidate struct {
	*defaultpreemption.DefaultPreemption
}

func (firstCandidate) GetOffsetAndNumCandidates(nodes int32) (int32, int32) { return 0, nodes }

func (firstCandidate) OrderedScoreFuncs(_ context.Context, victims map[string]*extenderv1.Victims) []func(string) int64 {
	funcs := make([]func(string) int64, 0, len(candidateCriteria)+1)
	for _, worth := range candidateCriteria {
		funcs = append(funcs, func(node string) int64 { return worth(victims[node]) })
	}
	return append(funcs, func(node string) int64 {
		before := int64(0)
		for other := range victims {
			if other < node {
				before++
			}
		}
		return -before
	})
}

func makePreemptionReproducible(fw framework.Framework) error {
	plugins, err := pluginsOf(fw)
	if err != nil {
		return err
	}
	if plugins.preemption != nil {
		plugins.preemption.Evaluator.Interface = firstCandidate{plugins.preemption}
	}
	return nil
}

// createPodGroups does to new groups what the priority admission plugin and
// the create strategies do.
func createPodGroups(c *cluster) error {
	on := utilfeature.DefaultFeatureGate.Enabled
	classes := map[string]*schedulingv1.PriorityClass{}
	for _, obj := range c.objects {
		if class, ok := obj.(*schedulingv1.PriorityClass); ok {
			classes[class.Name] = class
		}
	}
	for _, obj := range c.objects {
		switch g := obj.(type) {
		case *schedulingv1beta1.PodGroup:
			if g.Spec.Priority == nil {
				priority, err := groupPriority(g.Spec.PriorityClassName, classes)
				if err != nil {
					return fmt.Errorf("pod group %s/%s: %w", g.Namespace, g.Name, err)
				}
				g.Spec.Priority = &priority
			}
			if !on("TopologyAwareWorkloadScheduling") {
				g.Spec.SchedulingConstraints = nil
			}
			if !on("CompositePodGroup") {
				g.Spec.ParentCompositePodGroupName = nil
			}
			if !on("PodGroupPreemptionPolicy") {
				g.Spec.PreemptionPolicy = nil
			}
		case *schedulingv1alpha3.CompositePodGroup:
			if g.Spec.Priority == nil {
				priority, err := groupPriority(g.Spec.PriorityClassName, classes)
				if err != nil {
					return fmt.Errorf("composite pod group %s/%s: %w", g.Namespace, g.Name, err)
				}
				g.Spec.Priority = &priority
			}
			if !on("PodGroupPreemptionPolicy") {
				g.Spec.PreemptionPolicy = nil
			}
		}
	}
	return nil
}

func groupPriority(name string, classes map[string]*schedulingv1.PriorityClass) (int32, error) {
	if name != "" {
		if class := classes[name]; class != nil {
			return class.Value, nil
		}
		return 0, fmt.Errorf("no PriorityClass named %q", name)
	}
	var found *schedulingv1.PriorityClass
	for _, class := range classes {
		if class.GlobalDefault && (found == nil || class.Value < found.Value) {
			found = class
		}
	}
	if found == nil {
		return 0, nil
	}
	return found.Value, nil
}

// intercept notes which pods the scheduler deletes.
func (r *groupsRun) intercept(client *fake.Clientset) {
	client.PrependReactor("delete", "pods", func(action clienttesting.Action) (bool, runtime.Object, error) {
		deletion := action.(clienttesting.DeleteAction)
		obj, err := client.Tracker().Get(action.GetResource(), action.GetNamespace(), deletion.GetName())
		if err == nil {
			r.mu.Lock()
			r.evicted = append(r.evicted, obj.(*corev1.Pod))
			r.mu.Unlock()
		}
		return false, nil, nil
	})
}

// confirm writes a bound pod to the API, as the binding would.
func (r *groupsRun) confirm(assumed *corev1.Pod) {
	pods := r.engine.client.CoreV1().Pods(assumed.Namespace)
	pod, err := pods.Get(r.engine.ctx, assumed.Name, metav1.GetOptions{})
	if err != nil {
		return
	}
	pod = pod.DeepCopy()
	pod.Spec.NodeName = assumed.Spec.NodeName
	pod.Status.NominatedNodeName = ""
	pod.Status.Phase = corev1.PodRunning
	r.mu.Lock()
	start := metav1.NewTime(firstStart.Add(time.Duration(r.sent) * time.Second))
	r.mu.Unlock()
	pod.Status.StartTime = &start
	if _, err := pods.Update(r.engine.ctx, pod, metav1.UpdateOptions{}); err != nil {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	node := assumed.Spec.NodeName
	r.lines[podKey(assumed)].Node = &node
	r.bound++
}

// deliver hands the pending pods to the scheduler, the oldest first, so that
// their times in the queue follow their age.
func (r *groupsRun) deliver() error {
	e := r.engine
	pods := append([]*corev1.Pod(nil), e.cluster.pending...)
	sort.SliceStable(pods, func(i, j int) bool { return pods[i].CreationTimestamp.Before(&pods[j].CreationTimestamp) })
	expected := 0
	for _, pod := range pods {
		r.lines[podKey(pod)] = &groupLine{Pod: podKey(pod), Messages: []string{}}
		if group := pod.Spec.SchedulingGroup; group != nil && group.PodGroupName != nil {
			r.lines[podKey(pod)].Group = pod.Namespace + "/" + *group.PodGroupName
		}
		if err := e.client.Tracker().Add(pod.DeepCopy()); err != nil {
			return err
		}
		if _, ok := e.sched.Profiles[pod.Spec.SchedulerName]; !ok {
			continue
		}
		expected++
		err := eventually("a pod to be queued", func() bool {
			queued, _ := e.sched.SchedulingQueue.PendingPods()
			return len(queued) == expected
		})
		if err != nil {
			return err
		}
	}
	return nil
}

func entityKey(entity framework.QueuedEntityInfo) string {
	switch e := entity.(type) {
	case *framework.QueuedPodGroupInfo:
		return e.GetKey()
	case *framework.QueuedPodInfo:
		return "pod/" + podKey(e.Pod)
	}
	return ""
}

// scheduleAll runs one cycle after the other until every entity is over.
func (r *groupsRun) scheduleAll() error {
	s := r.engine.sched
	r.queue = s.NextEntity
	s.NextEntity = func(klog.Logger) (framework.QueuedEntityInfo, error) { return r.current, nil }
	fail := s.FailureHandler
	s.FailureHandler = func(ctx context.Context, fw framework.Framework, pod *framework.QueuedPodInfo, status *fwk.Status, info *fwk.NominatingInfo, start time.Time) {
		r.mu.Lock()
		line := r.lines[podKey(pod.Pod)]
		line.Messages = append(line.Messages, status.Message())
		line.Reason = "SchedulerError"
		if status.IsRejected() {
			line.Reason = "Unschedulable"
		}
		r.failed = true
		r.mu.Unlock()
		fail(ctx, fw, pod, status, info, start)
	}
	// What failed waits in the backoff queue, for another try that it does not get.
	for r.nActive() > 0 {
		entity, err := r.queue(r.engine.logger)
		if err != nil || entity == nil {
			return err
		}
		key := entityKey(entity)
		if r.over[key] {
			entity.ForEachPodInfo(func(pod *framework.QueuedPodInfo) bool {
				s.SchedulingQueue.Done(pod.Pod.UID)
				return true
			})
			continue
		}
		if err := r.scheduleOne(entity, key); err != nil {
			return err
		}
	}
	return nil
}

// nActive returns how many pods are in the active queue.
func (r *groupsRun) nActive() int {
	_, summary := r.engine.sched.SchedulingQueue.PendingPods()
	active := 0
	if _, err := fmt.Sscanf(summary, "activeQ:%d;", &active); err != nil {
		return 0
	}
	return active
}

func (r *groupsRun) scheduleOne(entity framework.QueuedEntityInfo, key string) error {
	pods := map[string]*corev1.Pod{}
	var names []string
	entity.ForEachPodInfo(func(pod *framework.QueuedPodInfo) bool {
		pods[podKey(pod.Pod)] = pod.Pod
		names = append(names, podKey(pod.Pod))
		return true
	})
	r.mu.Lock()
	r.current, r.failed, r.evicted = entity, false, nil
	failures := map[string]int{}
	for _, name := range names {
		failures[name] = len(r.lines[name].Messages)
	}
	bound := r.bound
	r.mu.Unlock()

	r.engine.sched.ScheduleOne(r.engine.ctx)

	placed := 0
	r.mu.Lock()
	for _, name := range names {
		if len(r.lines[name].Messages) == failures[name] && pods[name].DeletionTimestamp == nil {
			placed++
		}
	}
	r.sent += placed
	evicted := append([]*corev1.Pod(nil), r.evicted...)
	r.mu.Unlock()
	err := eventually("pods to be bound: "+key, func() bool {
		r.mu.Lock()
		defer r.mu.Unlock()
		return r.bound-bound == placed
	})
	if err != nil {
		return err
	}
	for _, name := range names {
		pod := pods[name]
		err := eventually("a pod to be confirmed", func() bool {
			assumed, err := r.engine.sched.Cache.IsAssumedPod(pod)
			return err == nil && !assumed
		})
		if err != nil {
			return err
		}
	}
	for _, victim := range evicted {
		err := eventually("a victim to disappear", func() bool {
			_, err := r.engine.sched.Cache.GetPod(victim)
			return err != nil
		})
		if err != nil {
			return err
		}
	}
	// What was written to claims comes back through the watch.
	for _, fw := range r.engine.sched.Profiles {
		if err := r.engine.awaitClaims(fw); err != nil {
			return err
		}
	}
	// So do nominations; the next attempt must see them.
	for _, name := range names {
		if err := eventually("an update of a queued pod", func() bool { return r.isUpToDate(pods[name]) }); err != nil {
			return err
		}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	switch {
	case len(evicted) > 0:
		if r.over["room for "+key] {
			r.over[key] = true
			break
		}
		r.over["room for "+key] = true
		line := r.lines[names[0]]
		for _, victim := range evicted {
			line.Victims = append(line.Victims, podKey(victim))
		}
		sort.Strings(line.Victims)
		r.engine.sched.SchedulingQueue.Activate(r.engine.logger, pods)
	case placed == 0 && r.failed:
		r.over[key] = true
	}
	return nil
}

// isUpToDate tells whether the queue, if it has a pod, has what the API has.
func (r *groupsRun) isUpToDate(pod *corev1.Pod) bool {
	known, ok := r.engine.sched.SchedulingQueue.GetPod(pod.Name, pod.Namespace, pod.Spec.SchedulingGroup)
	if !ok {
		return true
	}
	stored, err := r.engine.client.CoreV1().Pods(pod.Namespace).Get(r.engine.ctx, pod.Name, metav1.GetOptions{})
	return err != nil || stored.ResourceVersion == known.Pod.ResourceVersion
}

func (r *groupsRun) print() error {
	w := newLineWriter()
	defer w.close()
	var all error
	for _, pod := range r.engine.cluster.pending {
		line := r.lines[podKey(pod)]
		if line.Node != nil {
			line.Reason = ""
		} else if len(line.Messages) == 0 {
			line.Waits = r.waits(pod)
		}
		all = errors.Join(all, w.print(line))
	}
	return all
}

// waits tells what keeps a pod from being tried.
func (r *groupsRun) waits(pod *corev1.Pod) string {
	fw, _ := r.engine.profileFor(pod)
	if fw == nil {
		return "no profile"
	}
	for _, plugin := range fw.PreEnqueuePlugins() {
		if s := plugin.PreEnqueue(r.engine.ctx, pod); !s.IsSuccess() {
			return plugin.Name() + ": " + s.Message()
		}
	}
	return ""
}
