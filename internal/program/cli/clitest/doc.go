// Package clitest runs commands, processes and whole systems of hooklatch for tests.
package clitest
