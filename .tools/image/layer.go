package main

import (
	"archive/tar"
	"bytes"
	_ "embed"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/google/go-containerregistry/pkg/compression"
	"github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"github.com/google/go-containerregistry/pkg/v1/types"
)

// zstdLevel is the layer's compression level, as the zstd program numbers levels. Zstandard saves
// an eighth compared with gzip. Docker 23, containerd 1.5, Podman 2 and their later versions can
// read such a layer.
const zstdLevel = 19

// passwd gives the user of a container the name hooklatch. The Dockerfile copies the same file.
//
//go:embed passwd
var passwd []byte

// entry is a file of the image, or a folder if its name ends with a slash.
type entry struct {
	name string
	mode int64
	text []byte
}

// files lists everything that the image of a binary contains. Certificates and time zones are in
// the binary. The image has the folder tmp, so that a tmpfs can be mounted there. A process with an
// otherwise read-only file system can then write to /tmp.
func files(b binary, licenses string) ([]entry, error) {
	program, err := os.ReadFile(b.path)
	if err != nil {
		return nil, err
	}
	legal, err := os.ReadFile(licenses)
	if err != nil {
		return nil, err
	}
	return []entry{
		{"etc/", 0o755, nil},
		{"etc/passwd", 0o644, passwd},
		{"licenses/", 0o755, nil},
		{"licenses/LICENSES.txt", 0o644, legal},
		{"tmp/", 0o1777, nil},
		{"usr/", 0o755, nil},
		{"usr/bin/", 0o755, nil},
		{"usr/bin/hooklatch", 0o755, program},
	}, nil
}

// layerOf packs files. All of them are owned by root and have the same modification time.
func layerOf(entries []entry, at time.Time) (v1.Layer, error) {
	var packed bytes.Buffer
	w := tar.NewWriter(&packed)
	for _, e := range entries {
		header := &tar.Header{Typeflag: tar.TypeReg, Name: e.name, Mode: e.mode, Size: int64(len(e.text)), ModTime: at, Format: tar.FormatUSTAR}
		if e.text == nil {
			header.Typeflag = tar.TypeDir
		}
		if err := w.WriteHeader(header); err != nil {
			return nil, fmt.Errorf("pack %s: %w", e.name, err)
		}
		if _, err := w.Write(e.text); err != nil {
			return nil, fmt.Errorf("pack %s: %w", e.name, err)
		}
	}
	if err := w.Close(); err != nil {
		return nil, err
	}
	return tarball.LayerFromOpener(
		func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(packed.Bytes())), nil },
		tarball.WithCompression(compression.ZStd), tarball.WithCompressionLevel(zstdLevel),
		tarball.WithMediaType(types.OCILayerZStd), tarball.WithCompressedCaching)
}
