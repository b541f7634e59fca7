package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"encoding/pem"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"golang.org/x/crypto/x509roots/fallback/bundle"
)

// runs says how the image runs: as that of deploy/Dockerfile, which a test compares.
func (r *release) runs() v1.Config {
	const label, home = "org.opencontainers.image.", "https://github.com/ironic-throttle/ironic-throttle"
	return v1.Config{
		User: "65532:65532", Entrypoint: []string{"/ironic-throttle"}, Cmd: []string{"serve"},
		ExposedPorts: map[string]struct{}{"8088/tcp": {}, "8444/tcp": {}, "9441/tcp": {}, "6390/tcp": {}},
		Labels: map[string]string{
			label + "title": "ironic-throttle", label + "description": "Limits how many bare-metal hosts of Metal3 work at once",
			label + "licenses": "Apache-2.0", label + "source": home, label + "url": home,
			label + "version": r.version, label + "revision": r.commit,
		},
	}
}

// container builds the image for one processor from scratch: the binary, and the files of a distroless base that it
// needs.
func (r *release) container(p program) (v1.Image, error) {
	own, err := os.ReadFile(filepath.Join(r.root, "LICENSE"))
	if err != nil {
		return nil, err
	}
	files := []file{
		{path: "ironic-throttle", mode: 0o755, content: p.binary},
		{path: "licenses/"}, {path: "licenses/LICENSE", content: own},
		{path: "licenses/LICENSES-OF-OTHERS", content: licences(p)},
		{path: "etc/"}, {path: "etc/ssl/"}, {path: "etc/ssl/certs/"},
		{path: "etc/ssl/certs/ca-certificates.crt", content: rootCertificates()}, // where Go looks for it
		{path: "tmp/", mode: 0o1777},
	}
	var b bytes.Buffer
	if err := writeTar(&b, files, r.date); err != nil {
		return nil, err
	}
	layer, err := tarball.LayerFromOpener(func() (io.ReadCloser, error) {
		return io.NopCloser(bytes.NewReader(b.Bytes())), nil
	})
	if err != nil {
		return nil, err
	}
	created := v1.Time{Time: r.date}
	image, err := mutate.ConfigFile(empty.Image, &v1.ConfigFile{
		OS: "linux", Architecture: p.arch, Config: r.runs(), Created: created, RootFS: v1.RootFS{Type: "layers"},
	})
	if err != nil {
		return nil, err
	}
	history := v1.History{Created: created, CreatedBy: "hack/release"}
	return mutate.Append(image, mutate.Addendum{Layer: layer, History: history})
}

// rootCertificates returns Mozilla's certificates, which the Go project packs into a module of go.sum. It leaves out
// those that are trusted only under conditions, as a file of certificates cannot say these.
func rootCertificates() []byte {
	var b bytes.Buffer
	for root := range bundle.Roots() {
		if root.Constraint == nil {
			_ = pem.Encode(&b, &pem.Block{Type: "CERTIFICATE", Bytes: root.Certificate}) // a bytes.Buffer takes all
		}
	}
	return b.Bytes()
}

// file is a file or folder of an archive.
type file struct {
	path    string // a folder's ends in a slash
	mode    int64  // 0: that of a file which everybody may read
	content []byte
}

// writeTar packs files in the order of their paths, all with the same time.
func writeTar(to io.Writer, files []file, date time.Time) error {
	slices.SortFunc(files, func(a, b file) int { return strings.Compare(a.path, b.path) })
	w := tar.NewWriter(to)
	for _, f := range files {
		h := &tar.Header{
			Format: tar.FormatPAX, Typeflag: tar.TypeReg, Name: f.path, Mode: 0o644, Size: int64(len(f.content)),
			ModTime: date,
		}
		if strings.HasSuffix(f.path, "/") {
			h.Typeflag, h.Mode = tar.TypeDir, 0o755
		}
		if f.mode != 0 {
			h.Mode = f.mode
		}
		if err := w.WriteHeader(h); err != nil {
			return err
		}
		if _, err := w.Write(f.content); err != nil {
			return err
		}
	}
	return w.Close()
}

// tarGz is writeTar, compressed; the header of gzip has neither name nor time.
func tarGz(files []file, date time.Time) ([]byte, error) {
	var b bytes.Buffer
	w, _ := gzip.NewWriterLevel(&b, gzip.BestCompression) // the level is one
	err := errors.Join(writeTar(w, files, date), w.Close())
	return b.Bytes(), err
}
