package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/framework"
)

// question asks every plugin of a pod's profile about one event. Without a
// pod, only what the update of a pod or node stands for is wanted.
type question struct {
	Pod      json.RawMessage `json:"pod"`
	Resource string          `json:"resource"` // as in fwk.EventResource
	Action   int             `json:"action"`   // the bits of fwk.ActionType
	Old      json.RawMessage `json:"old"`
	New      json.RawMessage `json:"new"`
}

// answer says which plugins registered the event and what their hints make of
// it ("any" is a plugin without a hint), and what events the update of old to
// new would be, when both are pods or both are nodes.
type answer struct {
	Hints  map[string]string `json:"hints"`
	Events []eventJSON       `json:"events,omitempty"`
}

type eventJSON struct {
	Resource string `json:"resource"`
	Action   int    `json:"action"`
	Label    string `json:"label"`
}

// registration is one line of --list.
type registration struct {
	Plugin   string `json:"plugin"`
	Resource string `json:"resource"`
	Action   int    `json:"action"`
	Hint     bool   `json:"hint"`
}

func hintsMode(args []string) error {
	f := newFlags("hints", 100, 1)
	questions := f.set.String("questions", "", "file of questions, a JSON object a line")
	list := f.set.Bool("list", false, "print what the plugins register instead")
	c, opts, err := f.load(args)
	if err != nil {
		return err
	}
	opts.frozen = true
	e, err := newEngine(c, opts)
	if err != nil {
		return err
	}
	defer e.close()
	if *list {
		return e.listRegistrations()
	}
	file, err := os.Open(*questions)
	if err != nil {
		return err
	}
	defer file.Close()
	w := newLineWriter()
	defer w.close()
	reader := json.NewDecoder(bufio.NewReader(file))
	for {
		var q question
		if err := reader.Decode(&q); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return err
		}
		a, err := e.answer(&q)
		if err != nil {
			return err
		}
		if err := w.print(a); err != nil {
			return err
		}
	}
}

func (e *engine) listRegistrations() error {
	w := newLineWriter()
	defer w.close()
	for _, fw := range e.sched.Profiles {
		for _, extension := range fw.EnqueueExtensions() {
			events, err := extension.EventsToRegister(e.ctx)
			if err != nil {
				return err
			}
			for _, r := range events {
				line := registration{extension.Name(), string(r.Event.Resource), int(r.Event.ActionType), r.QueueingHintFn != nil}
				if err := w.print(line); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

func (e *engine) answer(q *question) (*answer, error) {
	before, err := decodeOne(q.Old)
	if err != nil {
		return nil, err
	}
	after, err := decodeOne(q.New)
	if err != nil {
		return nil, err
	}
	event := fwk.ClusterEvent{Resource: fwk.EventResource(q.Resource), ActionType: fwk.ActionType(q.Action)}
	a := &answer{Hints: map[string]string{}, Events: eventsOf(before, after, event.Resource == fwk.TargetPod)}
	waiting, err := decodeOne(q.Pod)
	if err != nil {
		return nil, err
	}
	pod, ok := waiting.(*corev1.Pod)
	if !ok {
		return a, nil
	}
	fw, _ := e.profileFor(pod)
	if fw == nil {
		return nil, fmt.Errorf("pod %s: no profile for scheduler name %q", podKey(pod), pod.Spec.SchedulerName)
	}
	return a, e.askHints(a, fw, pod, event, before, after)
}

func (e *engine) askHints(a *answer, fw framework.Framework, pod *corev1.Pod, event fwk.ClusterEvent, before, after any) error {
	for _, extension := range fw.EnqueueExtensions() {
		events, err := extension.EventsToRegister(e.ctx)
		if err != nil {
			return err
		}
		for _, r := range events {
			if !framework.MatchClusterEvents(r.Event, event) {
				continue
			}
			if r.QueueingHintFn == nil {
				a.Hints[extension.Name()] = "any"
				continue
			}
			hint, err := r.QueueingHintFn(e.logger, pod, before, after)
			if err != nil {
				a.Hints[extension.Name()] = "Error"
			} else {
				a.Hints[extension.Name()] = hint.String()
			}
		}
	}
	return nil
}

func eventsOf(before, after any, isTarget bool) []eventJSON {
	var events []fwk.ClusterEvent
	if oldPod, ok := before.(*corev1.Pod); ok {
		if newPod, ok := after.(*corev1.Pod); ok {
			events = framework.PodSchedulingPropertiesChange(newPod, oldPod, isTarget)
		}
	}
	if oldNode, ok := before.(*corev1.Node); ok {
		if newNode, ok := after.(*corev1.Node); ok {
			events = framework.NodeSchedulingPropertiesChange(newNode, oldNode)
		}
	}
	var out []eventJSON
	for _, event := range events {
		out = append(out, eventJSON{string(event.Resource), int(event.ActionType), event.Label()})
	}
	return out
}

// decodeOne reads one object; null and nothing at all give a nil interface, as
// hints get it.
func decodeOne(doc json.RawMessage) (any, error) {
	if len(doc) == 0 || string(doc) == "null" {
		return nil, nil
	}
	var objs []runtime.Object
	if err := collectObjects(doc, "", &objs, map[string]int{}); err != nil {
		return nil, err
	}
	if len(objs) != 1 {
		return nil, fmt.Errorf("expected one object, found %d in %.100s", len(objs), doc)
	}
	return objs[0], nil
}
