package clitest

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hooklatch/hooklatch/internal/program/doctor"
)

// Checked is the output of check --json.
type Checked struct {
	Problems int
	Warnings int
	Findings []doctor.Finding
}

// RunCheck runs check --json, and returns the exit code and the findings.
func RunCheck(t *testing.T, args ...string) (int, Checked) {
	t.Helper()
	var c Command
	code := c.Run(t.Context(), append([]string{"check", "--json"}, args...)...)
	var found Checked
	require.NoError(t, json.Unmarshal([]byte(c.Stdout.String()), &found), c.Stderr.String())
	return code, found
}

// Of returns the findings of one check.
func (c Checked) Of(check string) []doctor.Finding {
	var found []doctor.Finding
	for _, f := range c.Findings {
		if f.Check == check {
			found = append(found, f)
		}
	}
	return found
}
