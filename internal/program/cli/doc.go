// Package cli holds the commands of hooklatch. Package main of cmd/hooklatch calls Main; tests call
// Execute. Each command is a method of the type cli in the file that has its name.
package cli
