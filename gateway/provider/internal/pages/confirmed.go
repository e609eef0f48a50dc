package main

import (
	"encoding/json"
	"fmt"
	"os"
	"regexp"
	"strings"

	"github.com/hooklatch/hooklatch/gateway/provider"
)

// sdkRun is an entry of the file sdks.json: the SDKs of one provider that the tests in sdktest run.
// One of these tests checks that the file is complete.
type sdkRun struct {
	Provider string   `json:"provider"`
	Go       []string `json:"go"`  // modules
	NPM      []string `json:"npm"` // packages
}

// sdktest is the directory of the module whose tests run the senders' SDKs.
const sdktest = "../../sdktest/"

// requirement matches a go.mod line that requires a module.
var requirement = regexp.MustCompile(`(?m)^\s*(\S+) (v\S+)`)

// ranSDKs lists the SDKs that the tests run, with their versions, by provider.
func ranSDKs() (map[string][]string, error) {
	var runs []sdkRun
	if err := readJSON(sdktest+"sdks.json", &runs); err != nil {
		return nil, err
	}
	var npm struct {
		Dependencies map[string]string `json:"dependencies"`
	}
	if err := readJSON(sdktest+"npm/package.json", &npm); err != nil {
		return nil, err
	}
	text, err := os.ReadFile(sdktest + "go.mod")
	if err != nil {
		return nil, err
	}
	modules := map[string]string{}
	for _, match := range requirement.FindAllStringSubmatch(string(text), -1) {
		modules[match[1]] = strings.TrimSuffix(match[2], "+incompatible")
	}

	ran := map[string][]string{}
	for _, run := range runs {
		for _, module := range run.Go {
			if modules[module] == "" {
				return nil, fmt.Errorf("sdktest/go.mod requires no %s", module)
			}
			ran[run.Provider] = append(ran[run.Provider], "`"+module+"` "+modules[module])
		}
		for _, name := range run.NPM {
			if npm.Dependencies[name] == "" {
				return nil, fmt.Errorf("sdktest/npm/package.json requires no %s", name)
			}
			ran[run.Provider] = append(ran[run.Provider], "`"+name+"` "+npm.Dependencies[name]+" from npm")
		}
	}
	return ran, nil
}

func readJSON(path string, into any) error {
	text, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	if err := json.Unmarshal(text, into); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	return nil
}

// byWhat describes evidence to readers. sdks lists the SDKs that the tests run.
func byWhat(e provider.Evidence, sdks []string) string {
	texts := map[provider.Evidence]string{
		provider.Documentation: "the sender's documentation or code",
		provider.Vector:        "a published test vector",
		provider.SDK:           "an SDK that Hooklatch's tests run: " + strings.Join(sdks, ", "),
		provider.Others:        "third-party code and texts",
		provider.Nobody:        "unconfirmed: verify it before you rely on it",
		provider.Configured:    "your configuration",
		provider.NoSuchThing:   "-",
	}
	var parts []string
	for one := provider.Documentation; one <= provider.NoSuchThing; one <<= 1 {
		if e&one != 0 {
			parts = append(parts, texts[one])
		}
	}
	return strings.Join(parts, "; ")
}
