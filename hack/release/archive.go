package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// file is one file, or folder, of an archive.
type file struct {
	path    string // a folder's ends in a slash
	mode    int64  // 0: that of a file which everybody may read
	owner   int
	content []byte
}

// writeTar packs files in the order of their paths, all from one moment.
func writeTar(to io.Writer, files []file, date time.Time) error {
	slices.SortFunc(files, func(a, b file) int { return strings.Compare(a.path, b.path) })
	w := tar.NewWriter(to)
	for _, f := range files {
		h := &tar.Header{
			Format: tar.FormatPAX, Typeflag: tar.TypeReg, Name: f.path, Mode: f.mode, Size: int64(len(f.content)),
			Uid: f.owner, Gid: f.owner, ModTime: date,
		}
		if strings.HasSuffix(f.path, "/") {
			h.Typeflag = tar.TypeDir
		}
		if h.Mode == 0 {
			h.Mode = 0o644
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
	w, err := gzip.NewWriterLevel(&b, gzip.BestCompression)
	if err != nil {
		return nil, err
	}
	if err := writeTar(w, files, date); err != nil {
		return nil, err
	}
	if err := w.Close(); err != nil {
		return nil, err
	}
	return b.Bytes(), nil
}

// checksums writes SHA256SUMS over all that was built, as sha256sum -c reads it.
func (r *release) checksums(context.Context) error {
	entries, err := os.ReadDir(r.out) // sorted
	if err != nil {
		return err
	}
	var sums strings.Builder
	for _, e := range entries {
		content, err := os.ReadFile(filepath.Join(r.out, e.Name()))
		if err != nil {
			return err
		}
		fmt.Fprintf(&sums, "%x  %s\n", sha256.Sum256(content), e.Name())
	}
	return r.write("SHA256SUMS", []byte(sums.String()))
}
