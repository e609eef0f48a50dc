package main

import (
	"bytes"
	"fmt"
	"os"
	"strings"
)

// text is a licence or a notice, and the dependencies that have it.
type text struct {
	of   []string
	body string
}

// marks are phrases of licences that allow the distribution of a binary together with the licence's
// text. A maintainer decides about any other licence.
var marks = []string{
	"Apache License", "Permission is hereby granted, free of charge", "Redistribution and use in source and binary forms",
	"Permission to use, copy, modify, and/or distribute this software", "Mozilla Public License Version 2.0",
	"Mozilla Public License, version 2.0", "Additional IP Rights Grant",
}

// textsOf reads the texts of all dependencies; equal texts become one. It fails for a dependency
// without a text, and for a licence that contains none of the marks.
func textsOf(found []dependency) ([]*text, error) {
	var texts []*text
	known := map[string]*text{}
	for _, d := range found {
		paths, err := d.files()
		if err != nil {
			return nil, err
		}
		for _, path := range paths {
			raw, err := os.ReadFile(path)
			if err != nil {
				return nil, err
			}
			body := plain(raw)
			if !permitted(path, body) {
				return nil, fmt.Errorf("%s: the licence %s is unknown: decide whether a binary may contain it, then add a sentence of it to marks", d.name, path)
			}
			t := known[body]
			if t == nil {
				t = &text{body: body}
				known[body], texts = t, append(texts, t)
			}
			if len(t.of) == 0 || t.of[len(t.of)-1] != d.name {
				t.of = append(t.of, d.name)
			}
		}
	}
	return texts, nil
}

// plain returns a text without trailing spaces and carriage returns.
func plain(raw []byte) string {
	lines := strings.Split(string(bytes.ReplaceAll(raw, []byte("\r\n"), []byte("\n"))), "\n")
	for i, line := range lines {
		lines[i] = strings.TrimRight(line, " \t")
	}
	return strings.Trim(strings.Join(lines, "\n"), "\n")
}

// permitted reports whether a text is a notice, or a licence with one of the marks.
func permitted(path, body string) bool {
	if name := strings.ToLower(path[strings.LastIndexByte(path, '/')+1:]); strings.HasPrefix(name, "notice") {
		return true
	}
	words := strings.Join(strings.Fields(body), " ")
	for _, mark := range marks {
		if strings.Contains(words, mark) {
			return true
		}
	}
	return false
}

// render returns the contents of licenses.txt.
func render(own, console []byte, texts []*text) []byte {
	var page bytes.Buffer
	page.WriteString("Hooklatch is under this licence:\n\n" + plain(own) + "\n\n")
	page.WriteString("The program contains the software listed below, under the licences printed with it.\n")
	section := func(of, body string) {
		page.WriteString("\n" + strings.Repeat("=", 80) + "\n" + of + "\n\n" + body + "\n")
	}
	section("the console", plain(console))
	for _, t := range texts {
		section(strings.Join(t.of, "\n"), t.body)
	}
	return page.Bytes()
}
