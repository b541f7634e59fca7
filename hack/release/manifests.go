package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// kustomize builds what a kustomization of these lines makes, with the kustomize of hack/tools. In
// the lines DEPLOY is the folder deploy.
func (r *release) kustomize(ctx context.Context, lines string) (string, error) {
	dir, err := os.MkdirTemp("", "release-")
	if err != nil {
		return "", err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	here, err := filepath.EvalSymlinks(dir)
	if err != nil {
		return "", err
	}
	// It takes no absolute paths.
	deploy, err := filepath.Rel(here, filepath.Join(r.root, "deploy"))
	if err != nil {
		return "", err
	}
	text := "apiVersion: kustomize.config.k8s.io/v1beta1\nkind: Kustomization\n" + strings.ReplaceAll(lines, "DEPLOY", deploy)
	if err := os.WriteFile(filepath.Join(dir, "kustomization.yaml"), []byte(text), 0o600); err != nil {
		return "", err
	}
	if r.kustomizer == "" {
		if r.kustomizer, err = r.output(ctx, nil, "go", "-C", "hack/tools", "tool", "-n", "kustomize"); err != nil {
			return "", err
		}
	}
	built, err := r.output(ctx, nil, r.kustomizer, "build", "--reorder", "none", dir)
	return built + "\n", err
}

// manifests writes each overlay as one file that kubectl applies, with the image of this release;
// the patches of BMO's Deployment, which kubectl patch takes, are files of their own.
func (r *release) manifests(ctx context.Context) error {
	overlays := filepath.Join(r.root, "deploy", "overlays")
	found, err := filepath.Glob(filepath.Join(overlays, "*", "kustomization.yaml"))
	if err != nil {
		return err
	}
	patches, err := filepath.Glob(filepath.Join(overlays, "*", "*", "kustomization.yaml"))
	if err != nil {
		return err
	}
	for _, path := range append(found, patches...) {
		folder, err := filepath.Rel(overlays, filepath.Dir(path))
		if err != nil {
			return err
		}
		text, err := r.kustomize(ctx, fmt.Sprintf("resources: [DEPLOY/overlays/%s]\nimages:\n- {name: ironic-throttle, newName: %s, newTag: %q}\n",
			filepath.ToSlash(folder), r.image, r.version))
		if err != nil {
			return err
		}
		name := filepath.ToSlash(folder) + ".yaml"
		if overlay, part, ok := strings.Cut(name, "/"); ok {
			name = overlay + "-" + strings.TrimSuffix(part, ".yaml") + ".patch.yaml"
		}
		if err := r.write(r.name("_"+name), []byte(text)); err != nil {
			return err
		}
	}
	off, err := os.ReadFile(filepath.Join(overlays, "metal3-dev-env-sidecar", "off.yaml"))
	if err != nil {
		return err
	}
	return r.write(r.name("_off.patch.yaml"), off)
}
