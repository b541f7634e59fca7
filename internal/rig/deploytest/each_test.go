package deploytest

import (
	"maps"
	"net"
	"net/url"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// leaderLabel is what the leader puts on its own pod; without an election the pod has it from the start.
const leaderLabel = "ironic-throttle.metal3.io/role"

// TestEachDeployment holds every kustomization that deploys a throttle against the settings that serve starts with there.
// That an API server takes it, in a namespace that holds pods to "restricted", is a test of e2e/kube.
func TestEachDeployment(t *testing.T) {
	for name, dir := range cases(t) {
		t.Run(name, func(t *testing.T) {
			m := slices.Clone(kustomize(t, dir))
			if patch := filepath.Join(dir, "operator"); exists(patch) {
				m = append(m, kustomize(t, patch)...) // of BMO's Deployment
			}
			d := see(t, m).load(t)
			d.settings(t)
			d.pod(t)
			d.replicas(t)
			d.ports(t)
			d.egress(t)
			d.certificate(t)
			d.scraped(t)
			d.rights(t)
		})
	}
}

// settings: what may change live is in the file alone, for the environment would win over it for ever. A pod that
// observes beside one that enforces has the same file.
func (d *deployed) settings(t *testing.T) {
	live := regexp.MustCompile("(?m)^\\| `([A-Z_]+)` \\|").FindAllStringSubmatch(read(t, "../../../docs/settings.md"), -1)
	for _, name := range live {
		if text, ok := d.env[name[1]]; ok && name[1]+"="+text != "IRONIC_THROTTLE_MODE=observe" {
			t.Errorf("%s=%s belongs in deploy/settings/config.yaml", name[1], text)
		}
	}
	c := d.config
	if c.File == "" || len(live) < 10 {
		t.Errorf("no config file: none of the %d live settings could be changed without a restart", len(live))
	}
	if c.Ironic.Endpoint == "" && c.Ironic.Name == "" && !c.Kubernetes.On { // else BMO's Deployment tells
		t.Error("neither IRONIC_ENDPOINT nor IRONIC_NAME")
	}
	if spool := d.env["TMPDIR"]; c.Gateway.Listen != "" && !slices.Contains(d.dirs, spool) {
		t.Errorf("nothing is mounted for large bodies, TMPDIR=%q", spool)
	}
	if dir := c.Access.CertDir; dir != "" && !slices.Contains(d.dirs, dir) {
		t.Errorf("nothing is mounted at %s", dir)
	}
	// Commands look for plain HTTP on loopback, by kubectl exec and port-forward.
	usual := regexp.MustCompile(`defaultServer += "http://([^"]+)"`).FindStringSubmatch(read(t, "../../../cmd/ironic-throttle/client.go"))[1]
	if c.Listen.API != usual && (c.Listen.Local != usual || !c.Guarded()) {
		t.Errorf("plain HTTP is served at %q and %q, commands look at %s", c.Listen.API, c.Listen.Local, usual)
	}
}

func (d *deployed) pod(t *testing.T) {
	c := d.container
	if c.LivenessProbe == nil || c.LivenessProbe.HTTPGet.Path != "/healthz" {
		t.Error("no liveness probe at /healthz")
	}
	if d.beside != (c.ReadinessProbe == nil) || !d.beside && c.ReadinessProbe.HTTPGet.Path != "/readyz" {
		t.Errorf("readiness probe %v; in BMO's pod it would take BMO out of service with it", c.ReadinessProbe)
	}
	if r := c.Resources; r.Requests.Cpu().IsZero() || r.Requests.Memory().IsZero() || r.Limits.Memory().IsZero() || !r.Limits.Cpu().IsZero() {
		t.Errorf("%v: a limit of CPU would hold up renewals of the Lease and answers, the others must be set", r)
	}
	if _, tag, ok := strings.Cut(c.Image, ":"); !ok || tag == "" || tag == "latest" {
		t.Errorf("image %s: needs a tag other than latest", c.Image)
	}
	// What "restricted" does not ask for.
	if s := c.SecurityContext; s.ReadOnlyRootFilesystem == nil || !*s.ReadOnlyRootFilesystem || s.RunAsUser == nil || *s.RunAsUser == 0 {
		t.Errorf("security %v", s)
	}
	for _, mount := range c.VolumeMounts {
		if !mount.ReadOnly && mount.MountPath != "/spool" || mount.SubPath != "" {
			t.Errorf("%s may be written, or is never renewed", mount.MountPath)
		}
	}
	if secrets := d.kind("Secret"); len(secrets) > 0 {
		t.Errorf("%v: passwords and keys are the user's", secrets)
	}
}

// replicas: several need an election, one of two may not run beside the other, a rollout lets go of nobody before a new
// one is ready and is over when all are, a drain must not wait while Ironic is away, and clients come to the leader.
func (d *deployed) replicas(t *testing.T) {
	elects := d.env["IRONIC_THROTTLE_LEADER_ELECT"] == "true"
	for _, o := range d.kind("Service") {
		s := as[corev1.Service](t, o)
		if metrics := s.Labels["app.kubernetes.io/component"] == "metrics"; (s.Spec.Selector[leaderLabel] == "leader") == metrics {
			t.Errorf("%s chooses %v; what is scraped are all replicas", s.Name, s.Spec.Selector)
		}
	}
	if d.beside {
		if d.env["IRONIC_THROTTLE_LEADER_ELECT"] != "" {
			t.Error("in BMO's pod it is BMO's election that counts")
		}
		return
	}
	if role := d.Spec.Template.Labels[leaderLabel]; (role == "") != elects {
		t.Errorf("each pod has the role %q from the start; is one elected: %t", role, elects)
	}
	pdb := one[policyv1.PodDisruptionBudget](t, d.manifest, "PodDisruptionBudget", throttle)
	if b := pdb.Spec.MinAvailable; elects && (b == nil || *b != intstr.FromInt32(0) || pdb.Spec.MaxUnavailable != nil) {
		t.Error("the leader, which is not ready while Ironic is away, could not be evicted then, nor anybody else")
	}
	n, how := *d.Spec.Replicas, d.Spec.Strategy
	if !elects && (n != 1 || how.Type != appsv1.RecreateDeploymentStrategyType) {
		t.Errorf("%d replicas, %s: without election only one may run at any time", n, how.Type)
	}
	if roll := how.RollingUpdate; elects && (n < 2 || roll == nil || roll.MaxUnavailable.String() != "0" || roll.MaxSurge.String() != "1") {
		t.Errorf("%d replicas: a rollout lets the leader go before a new one is ready: %v", n, how)
	}
	if d.Spec.ProgressDeadlineSeconds != nil || d.Spec.MinReadySeconds != 0 {
		t.Error("a rollout that cannot end does not say so in Kubernetes' own time")
	}
}

// ports compares where serve listens beyond loopback with the container, its probes, the Services and the NetworkPolicy.
func (d *deployed) ports(t *testing.T) {
	listening, named, served, allowed := map[string]bool{}, map[string]bool{}, map[string]bool{}, map[string]bool{}
	for _, address := range []string{d.config.Listen.API, d.config.Listen.Health, d.config.Listen.Metrics, d.config.Gateway.Listen} {
		if host, port, _ := net.SplitHostPort(address); host != "127.0.0.1" && address != "" {
			listening[port] = true
		}
	}
	for _, p := range d.container.Ports {
		named[strconv.Itoa(int(p.ContainerPort))] = true
	}
	if !maps.Equal(listening, named) {
		t.Errorf("serve listens at %v, the container's ports are %v", listening, named)
	}
	_, health, _ := net.SplitHostPort(d.config.Listen.Health)
	for _, probe := range []*corev1.Probe{d.container.LivenessProbe, d.container.ReadinessProbe} {
		if probe != nil && probe.HTTPGet.Port.String() != health {
			t.Errorf("a probe looks at %v, health is at %s", probe.HTTPGet.Port, health)
		}
	}
	for _, o := range d.kind("Service") {
		s, pod := as[corev1.Service](t, o), d.Spec.Template.Labels
		for label, want := range s.Spec.Selector {
			if label != leaderLabel && pod != nil && pod[label] != want { // a patch of BMO does not show its labels
				t.Errorf("%s chooses %s=%s, which the pod has not", s.Name, label, want)
			}
		}
		for _, p := range s.Spec.Ports {
			if served[p.TargetPort.String()] = true; !listening[p.TargetPort.String()] {
				t.Errorf("%s leads to %v, where nothing listens", s.Name, p.TargetPort)
			}
		}
	}
	if d.beside {
		return
	}
	for _, rule := range one[networkingv1.NetworkPolicy](t, d.manifest, "NetworkPolicy", throttle).Spec.Ingress {
		for _, p := range rule.Ports {
			allowed[p.Port.String()] = true
		}
	}
	if !maps.Equal(allowed, served) {
		t.Errorf("Services lead to %v, the NetworkPolicy lets %v in", served, allowed)
	}
}

// egress leads where serve goes: Ironic, and with KUBERNETES=on the API server.
func (d *deployed) egress(t *testing.T) {
	if d.beside {
		return
	}
	rules := one[networkingv1.NetworkPolicy](t, d.manifest, "NetworkPolicy", throttle).Spec.Egress
	if d.config.Ironic.Endpoint == "" && d.config.Ironic.Name == "" {
		if all := rules[len(rules)-1]; len(all.Ports)+len(all.To) > 0 {
			t.Errorf("Ironic may be anywhere, the NetworkPolicy lets serve out to %v", all)
		}
		return
	}
	ironic, err := url.Parse(d.config.Ironic.Endpoint)
	if err != nil {
		t.Fatal(err)
	}
	want, got := map[string]bool{"53": true, ironic.Port(): true}, map[string]bool{}
	if d.config.Ironic.Name != "" { // the ports of the Service, and of the pod behind it
		want = map[string]bool{"53": true, "80": true, "443": true, "6385": true}
	}
	if d.config.Kubernetes.On {
		want["443"], want["6443"] = true, true
	}
	for _, rule := range rules {
		for _, p := range rule.Ports {
			got[p.Port.String()] = true
		}
	}
	if !maps.Equal(want, got) {
		t.Errorf("serve goes to %v, the NetworkPolicy lets it out to %v", want, got)
	}
}

// certificate is for the names that clients ask for: those of all Services that there could be.
func (d *deployed) certificate(t *testing.T) {
	for _, o := range d.kind("Certificate") {
		if o.GetName() != throttle {
			continue
		}
		var want, got []string
		for _, service := range []string{"api", "gateway", "metrics"} {
			name := throttle + "-" + service + "." + d.system + ".svc"
			want = append(want, name, name+".cluster.local")
		}
		for _, name := range spec(o)["dnsNames"].([]any) {
			got = append(got, name.(string))
		}
		if slices.Sort(got); !slices.Equal(want, got) {
			t.Errorf("the certificate is for %v, clients ask for %v", got, want)
		}
	}
}

// scraped: Prometheus holds the certificate against a name that this is for, wherever the throttle is, by an authority
// that the pod has, and nobody but who was given the right reads /metrics.
func (d *deployed) scraped(t *testing.T) {
	for _, o := range d.kind("ServiceMonitor") {
		endpoint := spec(o)["endpoints"].([]any)[0].(map[string]any)
		tls := endpoint["tlsConfig"].(map[string]any)
		if name := throttle + "-metrics." + d.system + ".svc"; endpoint["scheme"] != "https" || tls["serverName"] != name || !d.config.MetricsGuarded() {
			t.Errorf("%v of %v is scraped, the Service is %s; /metrics is guarded: %t", endpoint["scheme"], tls["serverName"], name, d.config.MetricsGuarded())
		}
		secret := tls["ca"].(map[string]any)["secret"].(map[string]any)["name"]
		if !slices.ContainsFunc(d.Spec.Template.Spec.Volumes, func(v corev1.Volume) bool { return v.Secret != nil && v.Secret.SecretName == secret }) {
			t.Errorf("the authority is looked for in the Secret %v", secret)
		}
	}
}
