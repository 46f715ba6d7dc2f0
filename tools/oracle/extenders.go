package main

import (
	"fmt"
	"sort"

	corev1 "k8s.io/api/core/v1"
	extenderv1 "k8s.io/kube-scheduler/extender/v1"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/framework/preemption"
)

// extendersPass asks the extenders, one after another, which of the feasible
// nodes they leave, and notes the statuses of those that they refuse. The
// scheduler's own function for this is private.
func (e *engine) extendersPass(pod *corev1.Pod, feasible []fwk.NodeInfo, statuses *framework.NodeToStatus) ([]fwk.NodeInfo, error) {
	for _, extender := range e.sched.Extenders {
		if len(feasible) == 0 {
			break
		}
		if !extender.IsInterested(pod) {
			continue
		}
		left, failed, unresolvable, err := extender.Filter(pod, feasible)
		if err != nil {
			if extender.IsIgnorable() {
				continue
			}
			return nil, err
		}
		for name, message := range failed {
			statuses.Set(name, fwk.NewStatus(fwk.Unschedulable, message))
		}
		for name, message := range unresolvable {
			statuses.Set(name, fwk.NewStatus(fwk.UnschedulableAndUnresolvable, message))
		}
		feasible = left
	}
	return feasible, nil
}

// noteExtenderStatuses puts what extenders say of nodes beside what filters say.
func noteExtenderStatuses(statuses *framework.NodeToStatus, byName map[string]*nodeJSON) {
	statuses.ForEachExplicitNode(func(name string, status *fwk.Status) {
		if node := byName[name]; node != nil && status.Plugin() == "" {
			s := toStatus(status, "")
			node.Extender = &s
		}
	})
}

// extenderScores adds to the totals what the extenders make of the nodes.
func (e *engine) extenderScores(pod *corev1.Pod, feasible []fwk.NodeInfo, byName map[string]*nodeJSON) {
	wanted := map[string]bool{}
	for _, node := range feasible {
		wanted[node.Node().Name] = true
	}
	for _, extender := range e.sched.Extenders {
		if !extender.IsInterested(pod) {
			continue
		}
		list, weight, err := extender.Prioritize(pod, feasible)
		if err != nil {
			continue
		}
		for _, entry := range *list {
			if !wanted[entry.Host] {
				continue
			}
			node := byName[entry.Host]
			score := entry.Score * weight * (fwk.MaxNodeScore / extenderv1.MaxExtenderPriority)
			if node.ExtenderScores == nil {
				node.ExtenderScores = map[string]int64{}
			}
			node.ExtenderScores[extender.Name()] += score
			total := *node.Total + score
			node.Total = &total
		}
	}
}

// extendersPreempt lets the extenders that take part in preemption change the
// candidates, as the preemption plugin does with those that it found.
func (e *engine) extendersPreempt(pod *corev1.Pod, lister fwk.NodeInfoLister, candidates []preemption.Candidate) ([]preemption.Candidate, error) {
	if len(e.sched.Extenders) == 0 {
		return candidates, nil
	}
	victims := map[string]*extenderv1.Victims{}
	for _, c := range candidates {
		victims[c.Name()] = c.Victims()
	}
	for _, extender := range e.sched.Extenders {
		if !extender.SupportsPreemption() || !extender.IsInterested(pod) {
			continue
		}
		changed, err := extender.ProcessPreemption(pod, victims, lister)
		if err != nil {
			if extender.IsIgnorable() {
				continue
			}
			return nil, err
		}
		for name, v := range changed {
			if v != nil && len(v.Pods) > 0 {
				continue
			}
			if !extender.IsIgnorable() {
				return nil, fmt.Errorf("expected at least one victim pod on node %q", name)
			}
			delete(changed, name)
		}
		if victims = changed; len(victims) == 0 {
			break
		}
	}
	left := make([]preemption.Candidate, 0, len(victims))
	for name, v := range victims {
		left = append(left, extendedCandidate{name, v})
	}
	sort.Slice(left, func(i, j int) bool { return left[i].Name() < left[j].Name() })
	return left, nil
}

type extendedCandidate struct {
	name    string
	victims *extenderv1.Victims
}

func (c extendedCandidate) Name() string                 { return c.name }
func (c extendedCandidate) Victims() *extenderv1.Victims { return c.victims }
func (c extendedCandidate) NumPodGroupDisruptions() int  { return 0 }
