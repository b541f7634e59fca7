package main

import (
	"bytes"
	"encoding/pem"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"time"

	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"github.com/google/go-containerregistry/pkg/v1/types"
	"golang.org/x/crypto/x509roots/fallback/bundle"
)

// The user that deploy/ runs the throttle as, and where Go looks for authorities.
const (
	user        = 65532
	authorities = "/etc/ssl/certs/ca-certificates.crt"
	home        = "home/nonroot" // below the root
)

// container builds the image for one processor, from scratch: what the distroless base of
// deploy/Dockerfile has and the throttle can use, then the binary.
func (r *release) container(p program, licences string) (v1.Image, error) {
	config, err := dockerConfig(filepath.Join(r.root, "deploy", "Dockerfile"), map[string]string{"VERSION": r.version, "COMMIT": r.commit})
	if err != nil {
		return nil, err
	}
	config.WorkingDir = "/" + home
	config.Env = []string{"PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "SSL_CERT_FILE=" + authorities}
	config.Labels["org.opencontainers.image.created"] = r.date.Format(time.RFC3339)

	own, err := os.ReadFile(filepath.Join(r.root, "LICENSE"))
	if err != nil {
		return nil, err
	}
	image := mutate.ConfigMediaType(mutate.MediaType(empty.Image, types.OCIManifestSchema1), types.OCIConfigJSON)
	for _, layer := range []struct {
		from  string
		files []file
	}{
		{"accounts and authorities", base()},
		{"ironic-throttle and licences", []file{
			{path: "ironic-throttle", mode: 0o755, content: p.binary},
			{path: "licenses/"}, {path: "licenses/LICENSE", content: own}, {path: "licenses/LICENSES-OF-OTHERS", content: []byte(licences)},
		}},
	} {
		if image, err = r.appendLayer(image, layer.from, layer.files); err != nil {
			return nil, err
		}
	}
	all, err := image.ConfigFile()
	if err != nil {
		return nil, err
	}
	all = all.DeepCopy()
	all.OS, all.Architecture, all.Config, all.Created = "linux", p.arch, config, v1.Time{Time: r.date}
	if p.arch == "arm64" {
		all.Variant = "v8"
	}
	if image, err = mutate.ConfigFile(image, all); err != nil {
		return nil, err
	}
	return mutate.Annotations(image, maps.Clone(config.Labels)).(v1.Image), nil
}

func (r *release) appendLayer(to v1.Image, from string, files []file) (v1.Image, error) {
	for i := range files {
		if files[i].mode == 0 && files[i].path[len(files[i].path)-1] == '/' {
			files[i].mode = 0o755
		}
	}
	packed, err := tarGz(files, r.date)
	if err != nil {
		return nil, err
	}
	layer, err := tarball.LayerFromOpener(func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(packed)), nil },
		tarball.WithMediaType(types.OCILayer))
	if err != nil {
		return nil, err
	}
	return mutate.Append(to, mutate.Addendum{
		Layer: layer, History: v1.History{Created: v1.Time{Time: r.date}, CreatedBy: "hack/release: " + from},
	})
}

// base is what is in the image besides the throttle.
func base() []file {
	return []file{
		{path: "etc/"},
		{path: "etc/passwd", content: []byte("root:x:0:0:root:/root:/sbin/nologin\n" +
			"nobody:x:65534:65534:nobody:/nonexistent:/sbin/nologin\nnonroot:x:65532:65532:nonroot:/" + home + ":/sbin/nologin\n")},
		{path: "etc/group", content: []byte("root:x:0:\nnobody:x:65534:\nnonroot:x:65532:\n")},
		{path: "etc/ssl/"}, {path: "etc/ssl/certs/"}, {path: authorities[1:], content: rootCertificates()},
		{path: "home/"}, {path: home + "/", mode: 0o700, owner: user},
		{path: "tmp/", mode: 0o1777},
	}
}

// rootCertificates are Mozilla's, as the Go project packs them into a module: go.sum says which.
// Those that are trusted under conditions are left out, as a file of certificates has no way to say these.
func rootCertificates() []byte {
	var b bytes.Buffer
	for root := range bundle.Roots() {
		if root.Constraint == nil {
			_ = pem.Encode(&b, &pem.Block{Type: "CERTIFICATE", Bytes: root.Certificate}) // a bytes.Buffer takes all
		}
	}
	return b.Bytes()
}

// saveImage writes one image as docker save does, for docker load, podman load and skopeo.
func (r *release) saveImage(arch string, image v1.Image) error {
	tag, err := name.NewTag(r.image + ":" + r.version)
	if err != nil {
		return err
	}
	var b bytes.Buffer
	if err := tarball.Write(tag, image, &b); err != nil {
		return err
	}
	return r.write(r.name("_linux_"+arch+".image.tar"), b.Bytes())
}

// saveIndex writes all images as one OCI layout, for registries and skopeo.
func (r *release) saveIndex(images []v1.Image) error {
	index := mutate.IndexMediaType(empty.Index, types.OCIImageIndex)
	for _, image := range images {
		config, err := image.ConfigFile()
		if err != nil {
			return err
		}
		manifest, err := image.Manifest()
		if err != nil {
			return err
		}
		index = mutate.AppendManifests(index, mutate.IndexAddendum{
			Add: image, Descriptor: v1.Descriptor{Platform: config.Platform(), Annotations: manifest.Annotations},
		})
		index = mutate.Annotations(index, maps.Clone(manifest.Annotations)).(v1.ImageIndex)
	}
	dir, err := os.MkdirTemp("", "release-")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	path, err := layout.Write(dir, empty.Index)
	if err != nil {
		return err
	}
	// The one entry that skopeo and podman take without being told which.
	if err := path.AppendIndex(index, layout.WithAnnotations(map[string]string{"org.opencontainers.image.ref.name": r.version})); err != nil {
		return err
	}
	var files []file
	err = filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || path == dir {
			return err
		}
		rel, err := filepath.Rel(dir, path)
		if err != nil || d.IsDir() {
			files = append(files, file{path: filepath.ToSlash(rel) + "/", mode: 0o755})
			return err
		}
		content, err := os.ReadFile(path)
		files = append(files, file{path: filepath.ToSlash(rel), content: content})
		return err
	})
	if err != nil {
		return err
	}
	var b bytes.Buffer
	if err := writeTar(&b, files, r.date); err != nil {
		return err
	}
	return r.write(r.name(".oci.tar"), b.Bytes())
}
