package kube_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/ironic-throttle/ironic-throttle/internal/kube"
	"github.com/ironic-throttle/ironic-throttle/pkg/api"
	"github.com/ironic-throttle/ironic-throttle/pkg/ironic"
)

// bmo is BMO with this in its container, beside the ConfigMaps ironic and more; nil: there is none.
func bmo(t *testing.T, container string, ironic, more map[string]string, others ...client.Object) kube.BMO {
	t.Helper()
	d := &appsv1.Deployment{}
	err := yaml.Unmarshal([]byte(`{metadata: {name: manager, namespace: bmo}, spec: {template: {spec: {
		containers: [{name: other, env: [{name: BMO_CONCURRENCY, value: "99"}]}, {name: manager, command: [/baremetal-operator], `+container+`}],
		volumes: [{name: ironic-credentials, secret: {secretName: ironic-credentials-9c7}}, {name: cacert, secret: {secretName: ironic-cacert}}]}}}}`), d)
	if err != nil {
		t.Fatal(err)
	}
	others = append(others, d)
	for name, data := range map[string]map[string]string{"ironic": ironic, "more": more} {
		if data != nil {
			others = append(others, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "bmo", Name: name}, Data: data})
		}
	}
	return kube.BMO{
		Client: serving(t, others...), Namespace: "bmo", Deployment: "manager",
		Own: func(endpoint string) bool { return strings.Contains(endpoint, ":6390") },
	}
}

type settings = map[string]string

func TestWorkersAsBMOFindsThem(t *testing.T) {
	const (
		ours   = `envFrom: [{configMapRef: {name: ironic}}]`
		both   = `envFrom: [{configMapRef: {name: ironic}}, {configMapRef: {name: more}}, {secretRef: {name: s}}]`
		byHand = `env: [{name: BMO_CONCURRENCY, value: "3"}]`
		byKey  = `env: [{name: POD, valueFrom: {configMapKeyRef: {name: secluded}}}, {name: BMO_CONCURRENCY, valueFrom: {configMapKeyRef: {name: more, key: count}}}]`
	)
	for name, row := range map[string]struct {
		container    string
		ironic, more settings
		workers      int
		from         string
		limit        int
	}{
		"nothing":           {`args: [--enable-leader-election]`, nil, nil, 0, "", 20},
		"no ConfigMap":      {ours, nil, nil, 0, "", 20},
		"the ConfigMap":     {ours, settings{"BMO_CONCURRENCY": "32", "PROVISIONING_LIMIT": "7"}, nil, 32, "BMO_CONCURRENCY in ConfigMap ironic", 7},
		"the later of two":  {both, settings{"BMO_CONCURRENCY": "32"}, settings{"BMO_CONCURRENCY": "12"}, 12, "BMO_CONCURRENCY in ConfigMap more", 20},
		"env before them":   {byHand + ", " + ours, settings{"BMO_CONCURRENCY": "32"}, nil, 3, "BMO_CONCURRENCY in its env", 20},
		"by key":            {byKey, nil, settings{"count": "4"}, 4, "BMO_CONCURRENCY in ConfigMap more", 20},
		"by a Secret":       {`env: [{name: BMO_CONCURRENCY, valueFrom: {secretKeyRef: {name: s, key: k}}}], ` + ours, settings{"BMO_CONCURRENCY": "32"}, nil, 0, "", 20},
		"the flag":          {`args: [--controller-concurrency=5], ` + byHand, nil, nil, 5, "--controller-concurrency", 20},
		"a flag of nothing": {`args: [--controller-concurrency=0], ` + byHand, nil, nil, 3, "BMO_CONCURRENCY in its env", 20},
		"no numbers":        {ours, settings{"BMO_CONCURRENCY": "many", "PROVISIONING_LIMIT": "many"}, nil, 0, "", 0},
	} {
		o, of, err := bmo(t, row.container, row.ironic, row.more).Workers(t.Context())
		want := api.Operator{Deployment: "bmo/manager", Workers: row.workers, WorkersFrom: row.from, Limit: row.limit}
		if diff := cmp.Diff(want, o); diff != "" || err != nil || of.Name != "manager" {
			t.Errorf("%s: %v, -want +got:\n%s", name, err, diff)
		}
	}
}

func TestIronicAsBMOFindsIt(t *testing.T) {
	const (
		here   = `envFrom: [{configMapRef: {name: ironic}}]`
		mounts = here + `, volumeMounts: [{name: ironic-credentials, mountPath: /opt/metal3/auth/ironic/}, {name: cacert, mountPath: /opt/metal3/certs/ca}]`
		beside = `env: [{name: IRONIC_ENDPOINT, value: "http://127.0.0.1:6390/v1/"}], ` + here // the gateway
		secure = "https://172.22.0.2:6385/v1/"
	)
	auth := secret("bmo", "ironic-credentials-9c7", settings{"username": "admin", "password": "sesame\n"})
	ca := secret("bmo", "ironic-cacert", settings{"tls.crt": certificate(t)})
	for name, row := range map[string]struct {
		container string
		data      settings
		objects   []client.Object
		ownFiles  bool
		want      ironic.Access
		ca        bool
		err       string
	}{
		"nothing":           {container: `args: []`, err: "it has no IRONIC_ENDPOINT, or IRONIC_NAME: set one of them for the throttle"},
		"the ConfigMap":     {container: here, data: settings{"IRONIC_ENDPOINT": secure}, want: ironic.Access{Address: "172.22.0.2:6385", TLS: true}},
		"not the gateway":   {container: beside, data: settings{"IRONIC_ENDPOINT": "https://[fd00::2]"}, want: ironic.Access{Address: "[fd00::2]:443", TLS: true}},
		"the gateway alone": {container: beside, err: "it has no IRONIC_ENDPOINT"},
		"insecure":          {container: here, data: settings{"IRONIC_ENDPOINT": secure, "IRONIC_INSECURE": "True"}, want: ironic.Access{Address: "172.22.0.2:6385", TLS: true, Insecure: true}},
		"all that is mounted": {container: mounts, data: settings{"IRONIC_ENDPOINT": secure}, objects: []client.Object{auth, ca},
			want: ironic.Access{Address: "172.22.0.2:6385", TLS: true, User: "admin", Password: "sesame"}, ca: true},
		"no authority without TLS": {container: mounts, data: settings{"IRONIC_ENDPOINT": "http://i"}, objects: []client.Object{auth},
			want: ironic.Access{Address: "i:80", User: "admin", Password: "sesame"}},
		"files of ours":          {container: mounts, data: settings{"IRONIC_ENDPOINT": "https://u:p@i"}, ownFiles: true, want: ironic.Access{Address: "i:443", TLS: true}},
		"credentials in the URL": {container: here, data: settings{"IRONIC_ENDPOINT": "http://u:p@i"}, want: ironic.Access{Address: "i:80", User: "u", Password: "p"}},
		"no Secret":              {container: mounts, data: settings{"IRONIC_ENDPOINT": secure}, err: `its credentials for Ironic, the Secret bmo/ironic-credentials-9c7: secrets "ironic-credentials-9c7" not found`},
		"no authority": {container: mounts, data: settings{"IRONIC_ENDPOINT": secure}, objects: []client.Object{auth},
			err: `its CA for Ironic, the Secret bmo/ironic-cacert: secrets "ironic-cacert" not found`},
		"a path":        {container: here, data: settings{"IRONIC_ENDPOINT": "https://u:sesame@i/baremetal/v1"}, err: `"https://i/baremetal" has a path`},
		"no URL":        {container: here, data: settings{"IRONIC_ENDPOINT": "ftp://ironic"}, err: "must begin with http:// or https:// (ConfigMap ironic)"},
		"by a resource": {container: here, data: settings{"IRONIC_NAME": "my", "IRONIC_ENDPOINT": "x"}, err: "or IRONIC_NAME"},
	} {
		b := bmo(t, row.container, row.data, nil, row.objects...)
		b.HasCredentials, b.HasAuthority = row.ownFiles, row.ownFiles
		got, err := b.Look(t.Context())
		if (err != nil) != (row.err != "") || err != nil && (!strings.Contains(err.Error(), row.err) || strings.Contains(err.Error(), "sesame")) {
			t.Errorf("%s: %v, want %q", name, err, row.err)
		}
		if (got.CA != nil) != row.ca {
			t.Errorf("%s: an authority: %t, want %t", name, got.CA != nil, row.ca)
		}
		if got.CA = nil; got != row.want {
			t.Errorf("%s: %+v, want %+v", name, got, row.want)
		}
	}
}
