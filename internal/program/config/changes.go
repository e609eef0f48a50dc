package config

import (
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"
)

// Change is a difference between two configurations in a setting that decides about events.
type Change struct {
	Section string     `json:"section"` // source, destination or route
	Name    string     `json:"name"`
	Kind    ChangeKind `json:"change"`
	// To is the new name, if Kind is Renamed.
	To string `json:"to,omitzero"`
	// Fields are the fields that differ, such as http.body, if Kind is Changed. The field secrets
	// stands for all secrets of a destination; their values are not shown.
	Fields []string `json:"fields,omitempty"`
}

// ChangeKind is the kind of a Change.
type ChangeKind string

// The kinds of a Change. A setting is renamed if it is removed and an equal one is added under
// another name.
const (
	Added   ChangeKind = "added"
	Removed ChangeKind = "removed"
	Renamed ChangeKind = "renamed"
	Changed ChangeKind = "changed"
)

// The sections that Changes compares.
const (
	SectionSource      = "source"
	SectionDestination = "destination"
	SectionRoute       = "route"
)

// Line describes the change on one line, without its section and name.
func (c Change) Line() string {
	switch c.Kind {
	case Renamed:
		return "renamed to " + c.To
	case Changed:
		return "changed in " + strings.Join(c.Fields, ", ")
	case Added, Removed:
	}
	return string(c.Kind)
}

// Changes returns the differences between the sources, destinations and routes of c and next.
func (c *Config) Changes(next *Config) []Change {
	list := changesOf(SectionSource, c.sourceSettings(), next.sourceSettings())
	list = append(list, changesOf(SectionDestination, c.destinationSettings(), next.destinationSettings())...)
	return append(list, changesOf(SectionRoute, c.routeSettings(), next.routeSettings())...)
}

// setting is one source, destination or route.
type setting struct {
	shown any // in the form of the printer, with <secret> in place of each secret
	whole any // with the secrets, except for a source
}

// sourceSettings returns the sources by name. It omits each source's secrets, retention and cell,
// because they change no decision.
func (c *Config) sourceSettings() map[string]setting {
	settings := make(map[string]setting, len(c.Sources))
	for name, one := range c.Sources {
		shown := printer{files: c.origin.files, omit: undecided.MatchString}.value(join("sources", name), reflect.ValueOf(one))
		settings[name] = setting{shown, shown}
	}
	return settings
}

func (c *Config) destinationSettings() map[string]setting {
	settings := make(map[string]setting, len(c.Destinations))
	for name, one := range c.Destinations {
		settings[name] = setting{printer{files: c.origin.files}.value(join("destinations", name), reflect.ValueOf(one)), one}
	}
	return settings
}

// routeSettings returns the routes by name. It omits the name from each route, so that a renamed
// route equals the same route under its former name.
func (c *Config) routeSettings() map[string]setting {
	settings := make(map[string]setting, len(c.Routes))
	for i, r := range c.Routes {
		name := r.Name
		r.Name = ""
		settings[name] = setting{shown: printer{files: c.origin.files}.value("routes["+strconv.Itoa(i)+"]", reflect.ValueOf(r)), whole: r}
	}
	return settings
}

func changesOf(section string, old, next map[string]setting) []Change {
	var list []Change
	renamed := map[string]bool{} // new names
	for _, name := range slices.Sorted(maps.Keys(old)) {
		now, kept := next[name]
		if kept {
			if fields := changedFields(old[name], now); len(fields) > 0 {
				list = append(list, Change{Section: section, Name: name, Kind: Changed, Fields: fields})
			}
			continue
		}
		change := Change{Section: section, Name: name, Kind: Removed}
		for _, to := range slices.Sorted(maps.Keys(next)) {
			if _, known := old[to]; !known && !renamed[to] && reflect.DeepEqual(old[name].whole, next[to].whole) {
				change.Kind, change.To, renamed[to] = Renamed, to, true
				break
			}
		}
		list = append(list, change)
	}
	for _, name := range slices.Sorted(maps.Keys(next)) {
		if _, known := old[name]; !known && !renamed[name] {
			list = append(list, Change{Section: section, Name: name, Kind: Added})
		}
	}
	return list
}

// changedFields returns the paths of the fields that differ, or the word secrets if only secrets
// differ.
func changedFields(old, next setting) []string {
	before, after := map[string]string{}, map[string]string{}
	for _, s := range settingsIn("", old.shown) {
		before[s.Field] = s.Value
	}
	for _, s := range settingsIn("", next.shown) {
		after[s.Field] = s.Value
	}
	var fields []string
	for field, value := range before {
		if now, kept := after[field]; !kept || now != value {
			fields = append(fields, field)
		}
	}
	for field := range after {
		if _, known := before[field]; !known {
			fields = append(fields, field)
		}
	}
	slices.Sort(fields)
	if fields == nil && !reflect.DeepEqual(old.whole, next.whole) {
		return []string{"secrets"}
	}
	return fields
}
