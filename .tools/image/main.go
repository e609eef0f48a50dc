// Command image assembles Hooklatch's container image for amd64 and arm64 from the Linux binaries
// of a release. It writes the image as a layout that crane, skopeo and podman read. It needs no
// container engine, and the same binaries give the same bytes.
package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/google/go-containerregistry/pkg/v1"
)

func main() {
	if err := run(os.Args[1:], os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "image:", err)
		os.Exit(1)
	}
}

func run(args []string, out io.Writer) error {
	var dist, version, licenses string
	var limit int64
	flags := flag.NewFlagSet("image", flag.ContinueOnError)
	flags.StringVar(&dist, "dist", "dist", "`folder` of a release: the binaries are in its folders hooklatch_linux_amd64* and hooklatch_linux_arm64*, the layout is written to its folder image")
	flags.StringVar(&version, "version", "", "the `version` of the binaries, such as v0.1.0")
	flags.StringVar(&licenses, "licenses", "../../cmd/hooklatch/licenses.txt", "`file` with the licences of all software in the binary")
	flags.Int64Var(&limit, "limit", 16_000_000, "maximum size of a compressed image, in `bytes`")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if version == "" || flags.NArg() > 0 {
		return errors.New("-version is missing, or there are other arguments: see -help")
	}
	version = "v" + tag(version)
	var binaries []binary
	for _, processor := range processors {
		b, err := findBinary(dist, processor, version)
		if err != nil {
			return err
		}
		binaries = append(binaries, b)
	}
	if a, b := binaries[0], binaries[1]; a.revision != b.revision || !a.committed.Equal(b.committed) {
		return fmt.Errorf("%s was built from commit %s, and %s from %s: build both from one commit", a.path, a.revision, b.path, b.revision)
	}
	index, err := assemble(binaries, version, licenses)
	if err != nil {
		return err
	}
	if err := checkSizes(index, limit); err != nil {
		return err
	}
	to := filepath.Join(dist, "image")
	if err := write(index, version, to); err != nil {
		return err
	}
	return report(index, version, to, out)
}

// report prints the digest of the index, to which release notes and signatures refer, and the
// sizes of the images.
func report(index v1.ImageIndex, version, to string, out io.Writer) error {
	digest, err := index.Digest()
	if err != nil {
		return err
	}
	fmt.Fprintf(out, "%s: version %s, %s\n", to, tag(version), digest)
	manifest, err := index.IndexManifest()
	if err != nil {
		return err
	}
	for _, m := range manifest.Manifests {
		size, err := compressed(index, m.Digest)
		if err != nil {
			return err
		}
		fmt.Fprintf(out, "  %s: %.1f MB compressed, %s\n", m.Platform, float64(size)/1e6, m.Digest)
	}
	return nil
}
