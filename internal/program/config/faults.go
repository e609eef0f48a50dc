package config

import (
	"fmt"
	"strings"

	"github.com/hooklatch/hooklatch/internal/option"
)

// faults reports faults that the options' own package found, at their positions in the file. It
// skips a value that already has a problem, but not a value that was decoded only in part.
func (d *decoder) faults(at string, err error) {
	known := d.problems
	for _, f := range option.FaultsOf(at, err) {
		if f.Missing {
			around := f.Around()
			d.missingf(around, strings.TrimPrefix(f.Field[len(around):], "."), "%s", f.Problem)
			continue
		}
		if path := d.place(f.Field); d.unknown[path] || !known.about(path) {
			d.reportf(path, "%s", d.sentence(path, f))
		}
	}
}

// place returns the path at which the file gives a value. A single value may stand for a list of
// one, and the name of a file may stand for the secrets in that file.
func (d *decoder) place(path string) string {
	if _, ok := d.origin.lines[path]; !ok && strings.HasSuffix(path, "]") {
		path = path[:strings.LastIndexByte(path, '[')]
	}
	if _, ok := d.origin.files[path]; ok {
		return fileKey(path)
	}
	return path
}

// sentence describes a fault. A value from the environment is shown as the reference in the file.
func (d *decoder) sentence(path string, f *option.Fault) string {
	text := f.Problem
	if reference, ok := d.expanded[path]; ok {
		text = strings.ReplaceAll(text, option.TheSecret, reference)
	}
	given, isText := f.Given.(string)
	switch {
	case isText:
		text = d.show(path, given) + " " + text
	case f.Given != nil:
		text = fmt.Sprint(f.Given) + " " + text
	}
	if len(f.Allowed) > 0 {
		text += "; " + d.oneOf(path, given, f.Allowed)
	}
	return text
}
