package main

import (
	"archive/tar"
	"bytes"
	"crypto/sha256"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/types"
)

const licenses = "../../cmd/hooklatch/licenses.txt"

func equal[T comparable](t *testing.T, what string, want, got T) {
	t.Helper()
	if want != got {
		t.Errorf("%s: want %v, got %v", what, want, got)
	}
}

func must[T any](t *testing.T) func(T, error) T {
	t.Helper()
	return func(value T, err error) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return value
	}
}

func TestTheImageContainsTheReleasedBinary(t *testing.T) {
	t.Parallel()
	dist := release(t, repository(t))
	var out bytes.Buffer
	checked(t, run([]string{"-dist", dist, "-version", "v1.2.3"}, &out))
	outer := must[v1.ImageIndex](t)(layout.ImageIndexFromPath(filepath.Join(dist, "image")))
	listed := must[*v1.IndexManifest](t)(outer.IndexManifest()).Manifests
	equal(t, "indexes", 1, len(listed))
	equal(t, "name in the layout", "1.2.3", listed[0].Annotations["org.opencontainers.image.ref.name"])
	if !strings.Contains(out.String(), listed[0].Digest.String()) {
		t.Errorf("the digest %s is not printed:\n%s", listed[0].Digest, &out)
	}
	index := must[v1.ImageIndex](t)(outer.ImageIndex(listed[0].Digest))
	manifest := must[*v1.IndexManifest](t)(index.IndexManifest())
	equal(t, "media type", types.OCIImageIndex, manifest.MediaType)
	equal(t, "images", 2, len(manifest.Manifests))
	for i, processor := range processors {
		equal(t, "platform", "linux/"+processor, manifest.Manifests[i].Platform.String())
		image := must[v1.Image](t)(index.Image(manifest.Manifests[i].Digest))
		checkConfiguration(t, must[*v1.ConfigFile](t)(image.ConfigFile()), processor)
		found, _ := filepath.Glob(filepath.Join(dist, "hooklatch_linux_"+processor+"*", "hooklatch"))
		checkFiles(t, image, must[[]byte](t)(os.ReadFile(found[0])))
	}
}

func checkConfiguration(t *testing.T, got *v1.ConfigFile, processor string) {
	t.Helper()
	equal(t, "processor", processor, got.Architecture)
	equal(t, "system", "linux", got.OS)
	equal(t, "user", "65532:65532", got.Config.User)
	equal(t, "command", "hooklatch serve --config /etc/hooklatch/hooklatch.yaml", strings.Join(append(got.Config.Entrypoint, got.Config.Cmd...), " "))
	equal(t, "created", "2026-03-04T05:06:07Z", got.Created.Format(time.RFC3339))
	for label, want := range map[string]string{
		"title": "hooklatch", "version": "1.2.3", "created": "2026-03-04T05:06:07Z", "licenses": "Apache-2.0", "base.name": "scratch",
		"documentation": "https://github.com/hooklatch/hooklatch/blob/v1.2.3/docs/README.md",
	} {
		equal(t, "label "+label, want, got.Config.Labels["org.opencontainers.image."+label])
	}
	for _, label := range []string{"description", "source", "url", "revision"} {
		if got.Config.Labels["org.opencontainers.image."+label] == "" {
			t.Errorf("label %s is missing", label)
		}
	}
}

func checkFiles(t *testing.T, image v1.Image, program []byte) {
	t.Helper()
	layers := must[[]v1.Layer](t)(image.Layers())
	equal(t, "layers", 1, len(layers))
	r := tar.NewReader(must[io.ReadCloser](t)(layers[0].Uncompressed()))
	var list strings.Builder
	for header, err := r.Next(); err != io.EOF; header, err = r.Next() {
		checked(t, err)
		fmt.Fprintf(&list, "%o %d:%d %s\n", header.Mode, header.Uid, header.Gid, header.Name)
		text := must[[]byte](t)(io.ReadAll(r))
		switch header.Name {
		case "usr/bin/hooklatch":
			equal(t, "the image contains the binary of the release", true, bytes.Equal(program, text))
		case "licenses/LICENSES.txt":
			equal(t, "licences", true, bytes.Contains(text, []byte("Apache License")))
		case "etc/passwd":
			equal(t, "user", true, bytes.HasPrefix(text, []byte("hooklatch:x:65532:65532:")))
		}
	}
	equal(t, "files", `755 0:0 etc/
644 0:0 etc/passwd
755 0:0 licenses/
644 0:0 licenses/LICENSES.txt
1777 0:0 tmp/
755 0:0 usr/
755 0:0 usr/bin/
755 0:0 usr/bin/hooklatch
`, list.String())
}

// A second release of the same commit, in another folder and later, has the same bytes.
func TestTheSameBinariesGiveTheSameBytes(t *testing.T) {
	t.Parallel()
	var sums [2]string
	for i := range sums {
		dist := release(t, repository(t))
		checked(t, run([]string{"-dist", dist, "-version", "v1.2.3"}, io.Discard))
		root := os.DirFS(filepath.Join(dist, "image"))
		err := fs.WalkDir(root, ".", func(name string, e fs.DirEntry, err error) error {
			if err != nil || e.IsDir() {
				return err
			}
			text, err := fs.ReadFile(root, name)
			sums[i] += fmt.Sprintf("%s %x\n", name, sha256.Sum256(text))
			return err
		})
		checked(t, err)
	}
	equal(t, "files of the layout", sums[0], sums[1])
	equal(t, "number of files", 9, strings.Count(sums[0], "\n"))
}

func TestWrongBinariesAreRefused(t *testing.T) {
	t.Parallel()
	remove := func(t *testing.T, _, dist string) {
		checked(t, os.RemoveAll(filepath.Join(dist, "hooklatch_linux_arm64_v8.0")))
	}
	for name, test := range map[string]struct {
		version string
		spoil   func(t *testing.T, folder, dist string)
		want    string
	}{
		"missing": {"v1.2.3", remove, "matches 0 files"},
		"two": {"v1.2.3", func(t *testing.T, _, dist string) {
			checked(t, os.CopyFS(dist+"/hooklatch_linux_amd64_v3", os.DirFS(dist+"/hooklatch_linux_amd64_v1")))
		}, "matches 2 files"},
		"another version": {"v1.2.4", nil, "is version v1.2.3, want v1.2.4"},
		"no version":      {"", nil, "-version is missing"},
		"another processor": {"v1.2.3", func(t *testing.T, _, dist string) {
			checked(t, os.Rename(dist+"/hooklatch_linux_arm64_v8.0/hooklatch", dist+"/hooklatch_linux_amd64_v1/hooklatch"))
		}, "GOARCH=arm64, want amd64"},
		"no program": {"v1.2.3", func(t *testing.T, _, dist string) {
			put(t, dist+"/hooklatch_linux_amd64_v1/hooklatch", "#!/bin/sh")
		}, "build information"},
		"uncommitted changes": {"v1.2.3", func(t *testing.T, folder, dist string) {
			put(t, folder+"/main.go", "package main\n\nfunc main() { println() }\n")
			build(t, folder, dist, "amd64")
		}, "uncommitted changes"},
		"no commit": {"v1.2.3", func(t *testing.T, folder, dist string) { build(t, folder, dist, "amd64", "-buildvcs=false") }, "build it with -buildvcs=true"},
		"two commits": {"v1.2.3", func(t *testing.T, folder, dist string) {
			execute(t, folder, "git", "commit", "-q", "--allow-empty", "-m", "Second")
			execute(t, folder, "git", "tag", "-f", "v1.2.3")
			build(t, folder, dist, "arm64")
		}, "build both from one commit"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			folder := repository(t)
			dist := release(t, folder)
			if test.spoil != nil {
				test.spoil(t, folder, dist)
			}
			err := run([]string{"-dist", dist, "-version", test.version}, io.Discard)
			if err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("want an error with %q, got %v", test.want, err)
			}
			if _, err := os.Stat(filepath.Join(dist, "image")); err == nil {
				t.Error("an image was written all the same")
			}
		})
	}
}

func TestALargeImageIsRefused(t *testing.T) {
	t.Parallel()
	err := run([]string{"-dist", release(t, repository(t)), "-version", "v1.2.3", "-limit", "1000"}, io.Discard)
	if err == nil || !strings.Contains(err.Error(), "and the limit is 1000") {
		t.Errorf("got %v", err)
	}
}

// Users who build the image with the Dockerfile get the settings and files of the released image.
func TestTheDockerfileSaysTheSame(t *testing.T) {
	t.Parallel()
	text := string(must[[]byte](t)(os.ReadFile("../../Dockerfile")))
	stages := strings.Split(text, "\nFROM ")
	equal(t, "stages", 3, len(stages))
	last := "FROM " + stages[2]
	for _, line := range []string{
		"FROM scratch\n", "USER " + configuration.User + "\n", "ENV " + configuration.Env[0] + "\n", "EXPOSE 8080 8081\n",
		`ENTRYPOINT ["` + strings.Join(configuration.Entrypoint, `", "`) + `"]`, `CMD ["` + strings.Join(configuration.Cmd, `", "`) + `"]`,
	} {
		equal(t, line, true, strings.Contains(last, line))
	}
	for _, e := range must[[]entry](t)(files(binary{path: "passwd"}, licenses)) {
		if e.text != nil || e.mode != 0o755 {
			equal(t, e.name, true, strings.Contains(text, "/image/"+strings.TrimSuffix(e.name, "/")))
		}
	}
}
