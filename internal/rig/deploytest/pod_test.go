package deploytest

import (
	"slices"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// TestRestricted holds what Pod Security's profile "restricted" asks for: of the
// container, and where the pod is ours, of the pod.
func TestRestricted(t *testing.T) {
	each(t, func(t *testing.T, m manifest) {
		d, c := m.deployment(t)
		for what, ok := range restricted(c) {
			if !ok {
				t.Errorf("container: %s", what)
			}
		}
		pod := d.Spec.Template.Spec
		if len(pod.InitContainers) > 0 || len(pod.Containers) != 1 && !sidecar(d) {
			t.Error("there are containers that this test does not know")
		}
		if !sidecar(d) {
			if pod.SecurityContext == nil || pod.SecurityContext.RunAsNonRoot == nil || !*pod.SecurityContext.RunAsNonRoot {
				t.Error("pod: runAsNonRoot is not set")
			}
		}
		if pod.HostNetwork || pod.HostPID || pod.HostIPC {
			t.Error("pod: uses the node's namespaces")
		}
		for _, v := range pod.Volumes {
			if v.ConfigMap == nil && v.Secret == nil && v.EmptyDir == nil {
				t.Errorf("volume %s is of another kind than those that are allowed", v.Name)
			}
		}
	})
}

func restricted(c corev1.Container) map[string]bool {
	s := c.SecurityContext
	if s == nil || s.Capabilities == nil || s.SeccompProfile == nil {
		return map[string]bool{"securityContext is not whole": false}
	}
	set := func(b *bool, want bool) bool { return b != nil && *b == want }
	return map[string]bool{
		"allowPrivilegeEscalation must be false": set(s.AllowPrivilegeEscalation, false),
		"runAsNonRoot must be true":              set(s.RunAsNonRoot, true),
		"runAsUser must not be 0":                s.RunAsUser != nil && *s.RunAsUser > 0,
		"readOnlyRootFilesystem must be true":    set(s.ReadOnlyRootFilesystem, true),
		"privileged must not be set":             s.Privileged == nil,
		"capabilities: drop ALL, add none":       slices.Equal(s.Capabilities.Drop, []corev1.Capability{"ALL"}) && len(s.Capabilities.Add) == 0,
		"seccompProfile must be RuntimeDefault":  s.SeccompProfile.Type == corev1.SeccompProfileTypeRuntimeDefault,
	}
}

func TestContainer(t *testing.T) {
	each(t, func(t *testing.T, m manifest) {
		d, c := m.deployment(t)
		if c.LivenessProbe == nil || c.LivenessProbe.HTTPGet.Path != "/healthz" {
			t.Error("no liveness probe at /healthz")
		}
		// In BMO's pod it would take BMO out of service with it.
		if beside := sidecar(d); beside != (c.ReadinessProbe == nil) {
			t.Errorf("readiness probe: %v, sidecar: %t", c.ReadinessProbe, beside)
		} else if !beside && c.ReadinessProbe.HTTPGet.Path != "/readyz" {
			t.Error("the readiness probe is not at /readyz (LH-27)")
		}
		if c.Resources.Requests.Cpu().IsZero() || c.Resources.Requests.Memory().IsZero() || c.Resources.Limits.Memory().IsZero() {
			t.Error("requests of CPU and memory and a limit of memory must be set")
		}
		if !c.Resources.Limits.Cpu().IsZero() {
			t.Error("a limit of CPU would hold up renewals of the Lease and answers")
		}
		if _, tag, ok := strings.Cut(c.Image, ":"); !ok || tag == "" || tag == "latest" {
			t.Errorf("image %s: needs a tag other than latest", c.Image)
		}
		for _, mount := range c.VolumeMounts {
			if !mount.ReadOnly && mount.MountPath != "/spool" {
				t.Errorf("%s may be written", mount.MountPath)
			}
			if mount.SubPath != "" {
				t.Errorf("%s: a subPath is never renewed", mount.MountPath)
			}
		}
	})
}

func TestNoSecrets(t *testing.T) {
	each(t, func(t *testing.T, m manifest) {
		for _, o := range m.kind("Secret") {
			t.Errorf("%s: passwords and keys are the user's", o)
		}
	})
}

// leaderLabel is what the leader puts on its own pod (LH-42).
const leaderLabel = "ironic-throttle.metal3.io/role"

// TestServicesLeadToTheLeader: without an election the pod has the label from the start. What is
// scraped are all replicas.
func TestServicesLeadToTheLeader(t *testing.T) {
	led := 0
	each(t, func(t *testing.T, m manifest) {
		d, _ := m.deployment(t)
		elects := settingsOf(t, m)["IRONIC_THROTTLE_LEADER_ELECT"] == "true"
		if role := d.Spec.Template.Labels[leaderLabel]; !sidecar(d) && (role == "") != elects {
			t.Errorf("each pod has the role %q from the start; is one elected: %t", role, elects)
		}
		for _, o := range m.kind("Service") {
			var s corev1.Service
			o.into(t, &s)
			metrics := s.Labels["app.kubernetes.io/component"] == "metrics"
			if (s.Spec.Selector[leaderLabel] == "leader") == metrics {
				t.Errorf("%s chooses %v", o, s.Spec.Selector)
			}
			if !metrics && elects {
				led++
			}
		}
	})
	if led < 4 {
		t.Errorf("found %d Services that lead to a leader: the search is broken", led)
	}
}

// TestReplicas: several need an election, one of two may not run beside the other, a
// rollout lets go of nobody before a new one is ready and is over when all are, and a drain
// must not wait while Ironic is away.
func TestReplicas(t *testing.T) {
	each(t, func(t *testing.T, m manifest) {
		d, _ := m.deployment(t)
		if sidecar(d) {
			if _, ok := settingsOf(t, m)["IRONIC_THROTTLE_LEADER_ELECT"]; ok {
				t.Error("in BMO's pod it is BMO's election that counts")
			}
			return
		}
		var pdb policyv1.PodDisruptionBudget
		m.one(t, "PodDisruptionBudget", throttle).into(t, &pdb)
		if settingsOf(t, m)["IRONIC_THROTTLE_LEADER_ELECT"] != "true" {
			if *d.Spec.Replicas != 1 || d.Spec.Strategy.Type != appsv1.RecreateDeploymentStrategyType {
				t.Errorf("%d replicas, %s: without election only one may run at any time", *d.Spec.Replicas, d.Spec.Strategy.Type)
			}
			return
		}
		if n := *d.Spec.Replicas; n < 2 {
			t.Errorf("election among %d", n)
		}
		if roll := d.Spec.Strategy.RollingUpdate; roll == nil || roll.MaxUnavailable.String() != "0" || roll.MaxSurge.String() != "1" {
			t.Errorf("a rollout lets the leader go before a new replica is ready: %v", roll)
		}
		if d.Spec.ProgressDeadlineSeconds != nil || d.Spec.MinReadySeconds != 0 {
			t.Error("a rollout that cannot end does not say so in Kubernetes' own time")
		}
		if b := pdb.Spec.MinAvailable; b == nil || *b != intstr.FromInt32(0) || pdb.Spec.MaxUnavailable != nil {
			t.Error("the leader, which is not ready while Ironic is away, could not be evicted then, nor anybody else")
		}
	})
}
