// Command hooklatch receives webhooks, stores each event once in Postgres before it responds, and
// performs the effects.
package main

import (
	_ "embed"
	"os"

	_ "golang.org/x/crypto/x509roots/fallback" // an image from scratch has no certificates

	"github.com/hooklatch/hooklatch/internal/program/cli"
)

// version is the version of a build without a repository, such as the image. The linker sets it.
var version string

// licenses are the licences of all software in the binary; package notices writes them.
//
//go:embed licenses.txt
var licenses string

func main() { os.Exit(cli.Main(version, licenses)) }
