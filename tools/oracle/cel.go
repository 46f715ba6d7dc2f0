package main

import (
	"bufio"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"os"
	"sort"

	"github.com/google/cel-go/cel"
	resourceapi "k8s.io/api/resource/v1"
	utilfeature "k8s.io/apiserver/pkg/util/feature"
	dracel "k8s.io/dynamic-resource-allocation/cel"
	"k8s.io/kubernetes/pkg/features"
)

// celQuestion is one line of input: an expression and the device to evaluate it for.
type celQuestion struct {
	Expression string `json:"expression"`
	Device     struct {
		Driver                   string                                                    `json:"driver"`
		AllowMultipleAllocations *bool                                                     `json:"allowMultipleAllocations"`
		Attributes               map[resourceapi.QualifiedName]resourceapi.DeviceAttribute `json:"attributes"`
		Capacity                 map[resourceapi.QualifiedName]resourceapi.DeviceCapacity  `json:"capacity"`
	} `json:"device"`
}

// celAnswer is one line of output. Exactly one of Result, Error and CompileError is set.
type celAnswer struct {
	Result       *bool   `json:"result,omitempty"`
	Error        string  `json:"error,omitempty"`
	CompileError string  `json:"compileError,omitempty"`
	Cost         *uint64 `json:"cost,omitempty"` // what the evaluation has cost, also where it failed
}

// celOverload describes one form of a function, in the type names of cel-go.
type celOverload struct {
	Function string   `json:"function"`
	ID       string   `json:"id"`
	Member   bool     `json:"member,omitempty"`
	Args     []string `json:"args"`
	Result   string   `json:"result"`
}

// celMode answers device selectors with the compiler that the scheduler uses.
func celMode(args []string) error {
	set := flag.NewFlagSet("oracle cel", flag.ExitOnError)
	gates := set.String("feature-gates", "", "feature gates to set, as A=true,B=false")
	listFunctions := set.Bool("functions", false, "print every form of every function that there is, instead")
	set.Parse(args)
	setLogging("")
	if err := setFeatureGates(*gates); err != nil {
		return err
	}
	cache := dracel.NewCache(1000, dracel.Features{
		EnableConsumableCapacity: utilfeature.DefaultFeatureGate.Enabled(features.DRAConsumableCapacity),
		EnableListTypeAttributes: utilfeature.DefaultFeatureGate.Enabled(features.DRAListTypeAttributes),
	})
	out := newLineWriter()
	defer out.close()
	if *listFunctions {
		return printFunctions(cache.GetOrCompile("true").Environment, out)
	}
	in := json.NewDecoder(bufio.NewReader(os.Stdin))
	for {
		var question celQuestion
		if err := in.Decode(&question); err == io.EOF {
			return nil
		} else if err != nil {
			return fmt.Errorf("reading a question: %w", err)
		}
		if err := out.print(answerSelector(cache, question)); err != nil {
			return err
		}
	}
}

// answerSelector evaluates one expression.
func answerSelector(cache *dracel.Cache, question celQuestion) celAnswer {
	compiled := cache.GetOrCompile(question.Expression)
	if compiled.Error != nil {
		return celAnswer{CompileError: compiled.Error.Error()}
	}
	device := question.Device
	matches, details, err := compiled.DeviceMatches(context.Background(), dracel.Device{
		Driver:                   device.Driver,
		AllowMultipleAllocations: device.AllowMultipleAllocations,
		Attributes:               device.Attributes,
		Capacity:                 device.Capacity,
	})
	var answer celAnswer
	if details != nil {
		answer.Cost = details.ActualCost()
	}
	if err != nil {
		answer.Error = dracel.EnhanceRuntimeError(err).Error()
		return answer
	}
	answer.Result = &matches
	return answer
}

// printFunctions lists the forms of all functions by name, in the order in which they are tried.
func printFunctions(env *cel.Env, out *lineWriter) error {
	functions := env.Functions()
	names := make([]string, 0, len(functions))
	for name := range functions {
		names = append(names, name)
	}
	sort.Strings(names)
	for _, name := range names {
		for _, overload := range functions[name].OverloadDecls() {
			line := celOverload{Function: name, ID: overload.ID(), Member: overload.IsMemberFunction(), Result: overload.ResultType().String()}
			for _, argument := range overload.ArgTypes() {
				line.Args = append(line.Args, argument.String())
			}
			if err := out.print(line); err != nil {
				return err
			}
		}
	}
	return nil
}
