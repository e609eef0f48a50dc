package main

import (
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/types"
)

// configuration contains the settings with which a container of the image starts. The Dockerfile
// has the same settings.
var configuration = v1.Config{
	User:         "65532:65532",
	Env:          []string{"PATH=/usr/bin"},
	Entrypoint:   []string{"hooklatch"},
	Cmd:          []string{"serve", "--config", "/etc/hooklatch/hooklatch.yaml"},
	ExposedPorts: map[string]struct{}{"8080/tcp": {}, "8081/tcp": {}},
	WorkingDir:   "/",
}

// tag returns the version in the form of an image tag.
func tag(version string) string { return strings.TrimPrefix(version, "v") }

// labels returns the labels of the image's configuration, which are also the annotations of the
// manifests.
func labels(b binary, version string) map[string]string {
	const prefix, home = "org.opencontainers.image.", "https://github.com/hooklatch/hooklatch"
	return map[string]string{
		prefix + "title":         "hooklatch",
		prefix + "description":   "Webhook gateway and transactional outbox on Postgres",
		prefix + "url":           home,
		prefix + "source":        home,
		prefix + "documentation": home + "/blob/" + version + "/docs/README.md",
		prefix + "version":       tag(version),
		prefix + "revision":      b.revision,
		prefix + "created":       b.committed.UTC().Format(time.RFC3339),
		prefix + "licenses":      "Apache-2.0",
		prefix + "base.name":     "scratch",
	}
}

// assemble makes an image for each binary, and the index in which a container engine finds the
// image for its processor.
func assemble(binaries []binary, version, licenses string) (v1.ImageIndex, error) {
	index := mutate.IndexMediaType(empty.Index, types.OCIImageIndex)
	for _, b := range binaries {
		image, err := imageOf(b, version, licenses)
		if err != nil {
			return nil, fmt.Errorf("assemble the image for %s: %w", b.processor, err)
		}
		platform := &v1.Platform{OS: "linux", Architecture: b.processor}
		index = mutate.AppendManifests(index, mutate.IndexAddendum{Add: image, Descriptor: v1.Descriptor{Platform: platform}})
	}
	annotated, _ := mutate.Annotations(index, labels(binaries[0], version)).(v1.ImageIndex)
	return annotated, nil
}

func imageOf(b binary, version, licenses string) (v1.Image, error) {
	entries, err := files(b, licenses)
	if err != nil {
		return nil, err
	}
	layer, err := layerOf(entries, b.committed)
	if err != nil {
		return nil, err
	}
	image := mutate.ConfigMediaType(mutate.MediaType(empty.Image, types.OCIManifestSchema1), types.OCIConfigJSON)
	created := v1.Time{Time: b.committed.UTC()}
	image, err = mutate.Append(image, mutate.Addendum{Layer: layer, History: v1.History{Created: created, CreatedBy: "hooklatch " + version}})
	if err != nil {
		return nil, err
	}
	file, err := image.ConfigFile()
	if err != nil {
		return nil, err
	}
	file = file.DeepCopy()
	file.OS, file.Architecture, file.Created, file.Config = "linux", b.processor, created, configuration
	file.Config.Labels = labels(b, version)
	image, err = mutate.ConfigFile(image, file)
	if err != nil {
		return nil, err
	}
	annotated, _ := mutate.Annotations(image, labels(b, version)).(v1.Image)
	return annotated, nil
}

// write writes the layout and replaces an earlier one.
func write(index v1.ImageIndex, version, to string) error {
	if err := os.RemoveAll(to); err != nil {
		return fmt.Errorf("replace the layout: %w", err)
	}
	path, err := layout.Write(to, empty.Index)
	if err != nil {
		return fmt.Errorf("write the layout: %w", err)
	}
	named := layout.WithAnnotations(map[string]string{"org.opencontainers.image.ref.name": tag(version)})
	if err := path.AppendIndex(index, named); err != nil {
		return fmt.Errorf("write the layout: %w", err)
	}
	return nil
}

// checkSizes returns an error if a compressed image has more than limit bytes.
func checkSizes(index v1.ImageIndex, limit int64) error {
	manifest, err := index.IndexManifest()
	if err != nil {
		return err
	}
	for _, m := range manifest.Manifests {
		size, err := compressed(index, m.Digest)
		if err != nil {
			return err
		}
		if size > limit {
			return fmt.Errorf("the image for %s has %d bytes, and the limit is %d: find out what made the binary grow, or raise -limit", m.Platform, size, limit)
		}
	}
	return nil
}

// compressed returns the size of an image in a registry, in bytes.
func compressed(index v1.ImageIndex, digest v1.Hash) (int64, error) {
	image, err := index.Image(digest)
	if err != nil {
		return 0, err
	}
	manifest, err := image.Manifest()
	if err != nil {
		return 0, err
	}
	size := manifest.Config.Size
	for _, l := range manifest.Layers {
		size += l.Size
	}
	return size, nil
}
