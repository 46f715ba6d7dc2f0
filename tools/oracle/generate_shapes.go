package main

import (
	"fmt"
	"sort"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/utils/ptr"
)

// shape is a benchmark workload: equal nodes, pods already running, and equal
// pending pods. They follow the workloads of the Kubernetes project's own
// scheduler_perf benchmark in what they contain.
type shape struct {
	zones   []string
	app     string // label of all pods, none if empty
	light   bool   // pending pods ask for nothing
	service bool   // a Service selects the pending pods
	change  func(pod *corev1.Pod)
	running bool // running pods are of the same kind as pending ones
	apps    int  // pending pods belong in turn to so many ReplicaSets, all different
}

func shapeTerm(key, value, topologyKey string) corev1.PodAffinityTerm {
	return corev1.PodAffinityTerm{
		LabelSelector: &metav1.LabelSelector{MatchLabels: map[string]string{key: value}},
		TopologyKey:   topologyKey,
		Namespaces:    []string{"sched-1", "sched-0"},
	}
}

func spreadOverZones(when corev1.UnsatisfiableConstraintAction) func(*corev1.Pod) {
	return func(pod *corev1.Pod) {
		pod.Spec.TopologySpreadConstraints = []corev1.TopologySpreadConstraint{{
			MaxSkew: 5, TopologyKey: corev1.LabelTopologyZone, WhenUnsatisfiable: when,
			LabelSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"color": "blue"}},
		}}
	}
}

var threeZones = []string{"moon-1", "moon-2", "moon-3"}

var shapes = map[string]shape{
	"perf-basic":          {},
	"perf-basic-zones":    {zones: threeZones},
	"perf-light":          {light: true},
	"perf-default-spread": {zones: threeZones, app: "app", light: true, service: true},
	"perf-antiaffinity": {app: "green", running: true, change: func(pod *corev1.Pod) {
		pod.Spec.Affinity = &corev1.Affinity{PodAntiAffinity: &corev1.PodAntiAffinity{
			RequiredDuringSchedulingIgnoredDuringExecution: []corev1.PodAffinityTerm{shapeTerm("color", "green", corev1.LabelHostname)},
		}}
	}},
	// As perf-antiaffinity, for many running pods: there each of them keeps its node.
	"perf-new-antiaffinity": {app: "green", change: func(pod *corev1.Pod) {
		pod.Spec.Affinity = &corev1.Affinity{PodAntiAffinity: &corev1.PodAntiAffinity{
			RequiredDuringSchedulingIgnoredDuringExecution: []corev1.PodAffinityTerm{shapeTerm("color", "green", corev1.LabelHostname)},
		}}
	}},
	"perf-affinity": {app: "blue", zones: []string{"zone1"}, running: true, change: func(pod *corev1.Pod) {
		pod.Spec.Affinity = &corev1.Affinity{PodAffinity: &corev1.PodAffinity{
			RequiredDuringSchedulingIgnoredDuringExecution: []corev1.PodAffinityTerm{shapeTerm("color", "blue", corev1.LabelTopologyZone)},
		}}
	}},
	"perf-preferred-affinity": {app: "red", running: true, change: func(pod *corev1.Pod) {
		pod.Spec.Affinity = &corev1.Affinity{PodAffinity: &corev1.PodAffinity{
			PreferredDuringSchedulingIgnoredDuringExecution: []corev1.WeightedPodAffinityTerm{{Weight: 1, PodAffinityTerm: shapeTerm("color", "red", corev1.LabelHostname)}},
		}}
	}},
	"perf-preferred-antiaffinity": {app: "yellow", running: true, change: func(pod *corev1.Pod) {
		pod.Spec.Affinity = &corev1.Affinity{PodAntiAffinity: &corev1.PodAntiAffinity{
			PreferredDuringSchedulingIgnoredDuringExecution: []corev1.WeightedPodAffinityTerm{{Weight: 1, PodAffinityTerm: shapeTerm("color", "yellow", corev1.LabelHostname)}},
		}}
	}},
	"perf-nodeaffinity": {zones: []string{"zone1"}, running: true, change: func(pod *corev1.Pod) {
		pod.Spec.Affinity = &corev1.Affinity{NodeAffinity: &corev1.NodeAffinity{RequiredDuringSchedulingIgnoredDuringExecution: &corev1.NodeSelector{
			NodeSelectorTerms: []corev1.NodeSelectorTerm{{MatchExpressions: []corev1.NodeSelectorRequirement{{
				Key: corev1.LabelTopologyZone, Operator: corev1.NodeSelectorOpIn, Values: []string{"zone1", "zone2"},
			}}}},
		}}}
	}},
	"perf-spread":           {app: "blue", zones: threeZones, change: spreadOverZones(corev1.DoNotSchedule)},
	"perf-preferred-spread": {app: "blue", zones: threeZones, change: spreadOverZones(corev1.ScheduleAnyway)},
	"perf-deployments":      {zones: threeZones, apps: 100},
}

func shapeNames() []string {
	var names []string
	for name := range shapes {
		names = append(names, name)
	}
	sort.Strings(names)
	return names
}

func (s shape) build(numNodes, numPods, numPending int) []runtime.Object {
	objs := []runtime.Object{
		&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "sched-0"}},
		&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "sched-1"}},
	}
	if s.service {
		objs = append(objs, &corev1.Service{
			ObjectMeta: metav1.ObjectMeta{Name: "service", Namespace: "sched-1"},
			Spec:       corev1.ServiceSpec{Selector: map[string]string{"color": s.app}, Ports: []corev1.ServicePort{{Port: 80}}},
		})
	}
	for app := 0; app < s.apps; app++ {
		replica := s.pod("", "sched-1")
		adopt(replica, app)
		objs = append(objs, &appsv1.ReplicaSet{
			ObjectMeta: metav1.ObjectMeta{Name: appName(app), Namespace: "sched-1"},
			Spec: appsv1.ReplicaSetSpec{
				Replicas: ptr.To(int32((numPending + s.apps - 1 - app) / s.apps)),
				Selector: &metav1.LabelSelector{MatchLabels: replica.Labels},
				Template: corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: replica.Labels}, Spec: replica.Spec},
			},
		})
	}
	for i := 0; i < numNodes; i++ {
		name := fmt.Sprintf("node-%05d", i)
		node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{corev1.LabelHostname: name}}}
		if len(s.zones) > 0 {
			node.Labels[corev1.LabelTopologyZone] = s.zones[i%len(s.zones)]
		}
		node.Status.Capacity = corev1.ResourceList{
			corev1.ResourcePods: resource.MustParse("110"), corev1.ResourceCPU: resource.MustParse("4"), corev1.ResourceMemory: resource.MustParse("32Gi"),
		}
		node.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue}}
		objs = append(objs, node)
	}
	for i := 0; i < numPods; i++ {
		plain := shape{}
		if s.running {
			plain = s
		}
		pod := plain.pod(fmt.Sprintf("init-%06d", i), "sched-0")
		pod.Spec.NodeName = fmt.Sprintf("node-%05d", i%numNodes)
		pod.Status.Phase = corev1.PodRunning
		started := metav1.NewTime(firstCreation)
		pod.Status.StartTime = &started
		objs = append(objs, pod)
	}
	for i := 0; i < numPending; i++ {
		pod := s.pod(fmt.Sprintf("pod-%06d", i), "sched-1")
		if s.apps > 0 {
			adopt(pod, i%s.apps)
		}
		objs = append(objs, pod)
	}
	return objs
}

func appName(app int) string { return fmt.Sprintf("app-%03d", app) }

// adopt makes pod a replica of an app's ReplicaSet, with the app's own label
// and requests.
func adopt(pod *corev1.Pod, app int) {
	name := appName(app)
	pod.Labels = map[string]string{"app": name}
	pod.OwnerReferences = []metav1.OwnerReference{{
		APIVersion: "apps/v1", Kind: "ReplicaSet", Name: name, UID: uidOf("ReplicaSet", pod.Namespace, name), Controller: ptr.To(true),
	}}
	resources := &pod.Spec.Containers[0].Resources
	resources.Requests = corev1.ResourceList{
		corev1.ResourceCPU:    *resource.NewMilliQuantity(int64(50+10*(app%10)), resource.DecimalSI),
		corev1.ResourceMemory: *resource.NewQuantity(int64(128+64*(app/10))<<20, resource.BinarySI),
	}
	resources.Limits = resources.Requests.DeepCopy()
}

func (s shape) pod(name, namespace string) *corev1.Pod {
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: namespace}}
	if s.app != "" {
		pod.Labels = map[string]string{"color": s.app}
	}
	c := corev1.Container{Name: "pause", Image: "pause:3.10", Ports: []corev1.ContainerPort{{ContainerPort: 80}}}
	if !s.light {
		c.Resources.Requests = corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("100m"), corev1.ResourceMemory: resource.MustParse("500Mi")}
		c.Resources.Limits = c.Resources.Requests.DeepCopy()
	}
	pod.Spec.Containers = []corev1.Container{c}
	if s.change != nil {
		s.change(pod)
	}
	return pod
}
