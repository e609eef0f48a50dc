// Package cli implements the commands of hooklatch. Package main of cmd/hooklatch calls Main; tests
// call Execute. Each command has a constructor, which is a method of the type cli.
package cli
