package main

import (
	"context"
	"fmt"
	"runtime"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/klog/v2"
	internalcache "k8s.io/kubernetes/pkg/scheduler/backend/cache"
	"k8s.io/kubernetes/pkg/scheduler/metrics"
)

// snapshotTimings is one line of snapshot's output.
type snapshotTimings struct {
	Mode     string  `json:"mode"`
	Nodes    int     `json:"nodes"`
	Pods     int     `json:"pods"`
	Changes  int     `json:"changes"`
	Cores    int     `json:"cores"`
	First    float64 `json:"first_ms"` // the snapshot that copies everything
	Assume   spread  `json:"assume_us"`
	Snapshot spread  `json:"snapshot_us"`
	Forget   spread  `json:"forget_us"`
	After    spread  `json:"snapshot_after_forget_us"`
}

// snapshotMode times what a scheduling cycle costs the scheduler's cache: a pod
// is assumed on one node, and the snapshot takes that over. There is no API, no
// informer and no plugin, only the cache.
func snapshotMode(args []string) error {
	f := newFlags("snapshot", 100, 1)
	profile := f.set.String("profile", "perf-basic", "the shape of nodes and pods, as for generate")
	nodes := f.set.Int("nodes", 1000, "number of nodes")
	pods := f.set.Int("pods", 30000, "number of pods that run on them")
	changes := f.set.Int("changes", 5000, "how often a pod is assumed, each time on the next node")
	spots := f.set.Int("spots", 100, "how many nodes take turns")
	f.set.Parse(args)
	setLogging(*f.verbosity)
	s, ok := shapes[*profile]
	if !ok {
		return fmt.Errorf("unknown --profile %q; the shapes are %v", *profile, shapeNames())
	}
	if *spots < 1 || *spots > *nodes {
		return fmt.Errorf("--spots %d: expected 1 to %d, the number of nodes", *spots, *nodes)
	}

	ctx, cancel := context.WithCancel(klog.NewContext(context.Background(), klog.Background()))
	defer cancel()
	logger := klog.FromContext(ctx)
	metrics.Register() // the cache publishes its sizes
	cache := internalcache.New(ctx, nil, false, false)
	var names []string
	for i, obj := range s.build(*nodes, *pods, 0) {
		switch obj := obj.(type) {
		case *corev1.Node:
			obj.Status.Allocatable = obj.Status.Capacity
			cache.AddNode(logger, obj)
			names = append(names, obj.Name)
		case *corev1.Pod:
			obj.UID = uidOf("pods", obj.Namespace, fmt.Sprint(i))
			if err := cache.AddPod(logger, obj); err != nil {
				return err
			}
		}
	}

	t := snapshotTimings{Mode: "snapshot", Nodes: *nodes, Pods: *pods, Changes: *changes, Cores: runtime.GOMAXPROCS(0)}
	snapshot := internalcache.NewEmptySnapshot()
	begin := time.Now()
	if err := cache.UpdateSnapshot(logger, snapshot); err != nil {
		return err
	}
	t.First = float64(time.Since(begin).Microseconds()) / 1000
	runtime.GC()
	var assumes, updates, forgets, updatesAfter []time.Duration
	for i := 0; i < *changes; i++ {
		pod := s.pod(fmt.Sprintf("new-%06d", i), "sched-1")
		pod.UID = uidOf("pods", pod.Namespace, pod.Name)
		pod.Spec.NodeName = names[i%*spots*(*nodes / *spots)]
		t0 := time.Now()
		if err := cache.AssumePod(logger, pod); err != nil {
			return err
		}
		t1 := time.Now()
		if err := cache.UpdateSnapshot(logger, snapshot); err != nil {
			return err
		}
		t2 := time.Now()
		if err := cache.ForgetPod(logger, pod); err != nil { // the next round finds the node as it was
			return err
		}
		t3 := time.Now()
		if err := cache.UpdateSnapshot(logger, snapshot); err != nil {
			return err
		}
		t4 := time.Now()
		assumes, updates = append(assumes, t1.Sub(t0)), append(updates, t2.Sub(t1))
		forgets, updatesAfter = append(forgets, t3.Sub(t2)), append(updatesAfter, t4.Sub(t3))
	}
	t.Assume, t.Snapshot = summarise(assumes), summarise(updates)
	t.Forget, t.After = summarise(forgets), summarise(updatesAfter)
	w := newLineWriter()
	defer w.close()
	return w.print(t)
}
