package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"sort"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/version"
	utilfeature "k8s.io/apiserver/pkg/util/feature"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/client-go/tools/events"
	"k8s.io/component-base/featuregate"
	"k8s.io/klog/v2"
	configv1 "k8s.io/kube-scheduler/config/v1"
	"k8s.io/kubernetes/pkg/scheduler"
	schedulerconfig "k8s.io/kubernetes/pkg/scheduler/apis/config"
	"k8s.io/kubernetes/pkg/scheduler/apis/config/scheme"
	"k8s.io/kubernetes/pkg/scheduler/apis/config/validation"
	"k8s.io/kubernetes/pkg/scheduler/framework"
)

// configVerdict is what the scheduler makes of one configuration file: an error, or
// the configuration in force (that of --write-config-to, which keeps
// multiPoint) and what runs where.
type configVerdict struct {
	File   string `json:"file"`
	Stage  string `json:"stage,omitempty"` // load or construct: where the error arose
	Error  string `json:"error,omitempty"`
	Config any    `json:"config,omitempty"`
	// Plugins lists by scheduler name and extension point.
	Plugins map[string]map[string][]pluginEntry `json:"plugins,omitempty"`
}

type pluginEntry struct {
	Name   string `json:"name"`
	Weight int32  `json:"weight,omitempty"`
}

// configMode prints one configVerdict per file, a line each.
func configMode(args []string) error {
	set := flag.NewFlagSet("oracle config", flag.ExitOnError)
	gates := set.String("feature-gates", "", "feature gates to set, as A=true,B=false")
	listGates := set.Bool("list-gates", false, "print every known feature gate, and its state, instead")
	set.Parse(args)
	setLogging("")
	if err := setFeatureGates(*gates); err != nil {
		return err
	}
	out := json.NewEncoder(os.Stdout)
	out.SetEscapeHTML(false)
	if *listGates {
		return out.Encode(knownGates())
	}
	for _, file := range set.Args() {
		if err := out.Encode(judgeConfig(file)); err != nil {
			return err
		}
	}
	return nil
}

func judgeConfig(file string) configVerdict {
	cfg, err := loadConfigFile(file)
	if err != nil {
		return configVerdict{File: file, Stage: "load", Error: err.Error()}
	}
	profiles, plugins, err := construct(cfg)
	if err != nil {
		return configVerdict{File: file, Stage: "construct", Error: err.Error()}
	}
	cfg.Profiles = profiles
	doc, err := writtenConfig(cfg)
	if err != nil {
		return configVerdict{File: file, Stage: "write", Error: err.Error()}
	}
	return configVerdict{File: file, Config: doc, Plugins: plugins}
}

// loadConfigFile is the scheduler's own loading (options.LoadConfigFromFile,
// which is not importable) and validation.
func loadConfigFile(file string) (*schedulerconfig.KubeSchedulerConfiguration, error) {
	data, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	obj, gvk, err := scheme.Codecs.UniversalDecoder().Decode(data, nil, nil)
	if err != nil {
		return nil, err
	}
	cfg, ok := obj.(*schedulerconfig.KubeSchedulerConfiguration)
	if !ok {
		return nil, fmt.Errorf("couldn't decode as KubeSchedulerConfiguration, got %s: ", gvk)
	}
	cfg.APIVersion = gvk.GroupVersion().String()
	if err := validation.ValidateKubeSchedulerConfiguration(cfg); err != nil {
		return nil, err
	}
	return cfg, nil
}

// construct builds a scheduler and gives its profiles, arguments sorted by
// name (the scheduler leaves them in the random order of a map).
func construct(cfg *schedulerconfig.KubeSchedulerConfiguration) ([]schedulerconfig.KubeSchedulerProfile, map[string]map[string][]pluginEntry, error) {
	ctx, cancel := context.WithCancel(klog.NewContext(context.Background(), klog.Background()))
	defer cancel()
	client := fake.NewSimpleClientset()
	var completed []schedulerconfig.KubeSchedulerProfile
	sched, err := scheduler.New(ctx, client, scheduler.NewInformerFactory(client, 0, nil), nil,
		func(string) events.EventRecorderLogger { return &events.FakeRecorder{} },
		scheduler.WithComponentConfigVersion(cfg.APIVersion),
		scheduler.WithProfiles(cfg.Profiles...),
		scheduler.WithExtenders(cfg.Extenders...),
		scheduler.WithParallelism(cfg.Parallelism),
		scheduler.WithBuildFrameworkCapturer(func(profile schedulerconfig.KubeSchedulerProfile) {
			completed = append(completed, profile)
		}),
	)
	if err != nil {
		return nil, nil, err
	}
	plugins := map[string]map[string][]pluginEntry{}
	for name, fw := range sched.Profiles {
		plugins[name] = expandedPlugins(fw)
	}
	for _, profile := range completed {
		sort.Slice(profile.PluginConfig, func(i, j int) bool {
			return profile.PluginConfig[i].Name < profile.PluginConfig[j].Name
		})
	}
	return completed, plugins, nil
}

func expandedPlugins(fw framework.Framework) map[string][]pluginEntry {
	list := fw.ListPlugins()
	points := map[string]schedulerconfig.PluginSet{
		"preEnqueue": list.PreEnqueue, "queueSort": list.QueueSort, "preFilter": list.PreFilter,
		"filter": list.Filter, "postFilter": list.PostFilter, "preScore": list.PreScore, "score": list.Score,
		"reserve": list.Reserve, "permit": list.Permit, "preBind": list.PreBind, "bind": list.Bind,
		"postBind": list.PostBind, "placementGenerate": list.PlacementGenerate,
		"placementScore": list.PlacementScore, "podGroupPostFilter": list.PodGroupPostFilter,
	}
	found := map[string][]pluginEntry{}
	for point, set := range points {
		for _, plugin := range set.Enabled {
			found[point] = append(found[point], pluginEntry{plugin.Name, plugin.Weight})
		}
	}
	return found
}

// writtenConfig is the document that --write-config-to gives, as JSON.
func writtenConfig(cfg *schedulerconfig.KubeSchedulerConfiguration) (any, error) {
	info, ok := runtime.SerializerInfoForMediaType(scheme.Codecs.SupportedMediaTypes(), runtime.ContentTypeJSON)
	if !ok {
		return nil, errors.New("no JSON encoder")
	}
	var buf bytes.Buffer
	encoder := scheme.Codecs.EncoderForVersion(info.Serializer, configv1.SchemeGroupVersion)
	if err := encoder.Encode(cfg, &buf); err != nil {
		return nil, err
	}
	return json.RawMessage(bytes.TrimSpace(buf.Bytes())), nil
}

// gateState is one feature gate, in the current version.
type gateState struct {
	Name      string   `json:"name"`
	Enabled   bool     `json:"enabled"`
	Default   bool     `json:"default"`
	Locked    bool     `json:"locked,omitempty"`
	Stage     string   `json:"stage"`
	DependsOn []string `json:"dependsOn,omitempty"`
}

func knownGates() []gateState {
	var states []gateState
	gate := utilfeature.DefaultMutableFeatureGate
	current := gate.EmulationVersion()
	dependencies := gate.Dependencies()
	for name, specs := range gate.GetAllVersioned() {
		spec := specAt(specs, current)
		state := gateState{
			Name: string(name), Enabled: gate.Enabled(name), Default: spec.Default, Locked: spec.LockToDefault,
			Stage: stageName(spec),
		}
		for _, needed := range dependencies[name] {
			state.DependsOn = append(state.DependsOn, string(needed))
		}
		states = append(states, state)
	}
	sort.Slice(states, func(i, j int) bool { return states[i].Name < states[j].Name })
	return states
}

// specAt is the last of the specs, sorted by version, that the version reaches.
func specAt(specs featuregate.VersionedSpecs, at *version.Version) featuregate.FeatureSpec {
	found := featuregate.FeatureSpec{PreRelease: featuregate.PreAlpha}
	for _, spec := range specs {
		if spec.Version == nil || !spec.Version.GreaterThan(at) {
			found = spec
		}
	}
	return found
}

func stageName(spec featuregate.FeatureSpec) string {
	if spec.PreRelease == featuregate.GA {
		return "GA"
	}
	return fmt.Sprint(spec.PreRelease)
}
