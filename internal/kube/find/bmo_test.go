package find_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/ironic-throttle/ironic-throttle/internal/kube/find"
	"github.com/ironic-throttle/ironic-throttle/pkg/api"
	"github.com/ironic-throttle/ironic-throttle/pkg/ironic"
)

// deployment is BMO's, with this in its container.
func deployment(t *testing.T, container string) *appsv1.Deployment {
	t.Helper()
	d := &appsv1.Deployment{}
	err := yaml.Unmarshal([]byte(`{metadata: {name: manager, namespace: bmo, uid: d-1}, spec: {template: {spec: {
		containers: [{name: other, env: [{name: BMO_CONCURRENCY, value: "99"}]}, {name: manager, command: [/baremetal-operator], `+container+`}],
		volumes: [{name: ironic-credentials, secret: {secretName: ironic-credentials-9c7}}, {name: cacert, secret: {secretName: ironic-cacert}}]}}}}`), d)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func configMap(name string, data map[string]string) *corev1.ConfigMap {
	return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "bmo", Name: name}, Data: data}
}

// bmo is BMO whose Deployment has this in its container, beside these objects.
func bmo(t *testing.T, container string, faults map[string]error, objects ...client.Object) find.BMO {
	t.Helper()
	return find.BMO{
		Client: serving(faults, append(objects, deployment(t, container))...), Namespace: "bmo", Deployment: "manager", CPUs: 6,
		Own: func(endpoint string) bool { return strings.Contains(endpoint, ":6390") },
	}
}

type settings = map[string]string

func TestWorkersAsBMOFindsThem(t *testing.T) {
	const (
		ours    = `envFrom: [{configMapRef: {name: ironic-h4sh}}]`
		twoMaps = `envFrom: [{configMapRef: {name: ironic-h4sh}}, {prefix: BMO_, configMapRef: {name: more, optional: true}}, {secretRef: {name: s}}]`
		byRef   = `env: [{name: BMO_CONCURRENCY, valueFrom: {configMapKeyRef: {name: more, key: CONCURRENCY`
		wrong   = "BMO does not start with that"
	)
	rule := api.Operator{Workers: 6, WorkersFrom: "BMO's own rule for 6 CPUs", Estimated: true, Limit: 20}
	of := func(n int, from string, limit int) api.Operator {
		return api.Operator{Workers: n, WorkersFrom: from, Limit: limit}
	}
	for name, row := range map[string]struct {
		container    string
		ironic, more settings // data of the ConfigMaps ironic-h4sh and more; nil: there is none
		want         api.Operator
		err          string
	}{
		"nothing":                      {`args: [--enable-leader-election]`, nil, nil, rule, ""},
		"a ConfigMap without":          {ours, settings{"IRONIC_ENDPOINT": "x"}, nil, rule, ""},
		"the ConfigMap":                {ours, settings{"BMO_CONCURRENCY": "32", "PROVISIONING_LIMIT": "7"}, nil, of(32, "BMO_CONCURRENCY in ConfigMap ironic-h4sh", 7), ""},
		"the later of two":             {twoMaps, settings{"BMO_CONCURRENCY": "32"}, settings{"CONCURRENCY": "12"}, of(12, "BMO_CONCURRENCY in ConfigMap more", 20), ""},
		"a second that need not be":    {twoMaps, settings{"BMO_CONCURRENCY": "32"}, nil, of(32, "BMO_CONCURRENCY in ConfigMap ironic-h4sh", 20), ""},
		"env before envFrom":           {`env: [{name: BMO_CONCURRENCY, value: "3"}], ` + ours, settings{"BMO_CONCURRENCY": "32"}, nil, of(3, "BMO_CONCURRENCY in its env", 20), ""},
		"by key":                       {byRef + `}}}]`, nil, settings{"CONCURRENCY": "4"}, of(4, "BMO_CONCURRENCY in ConfigMap more", 20), ""},
		"by a key that is not there":   {byRef + `}}}]`, nil, settings{"OTHER": "4"}, of(0, "", 20), "BMO_CONCURRENCY: ConfigMap more has no key CONCURRENCY"},
		"by a key that need not be":    {byRef + `, optional: true}}}]`, nil, nil, rule, ""},
		"by something else":            {`env: [{name: BMO_CONCURRENCY, valueFrom: {secretKeyRef: {name: s, key: k}}}]`, nil, nil, of(0, "", 20), "neither a plain value nor a ConfigMap"},
		"the flag before all":          {`args: [--controller-concurrency=5], env: [{name: BMO_CONCURRENCY, value: "3"}]`, nil, nil, of(5, "--controller-concurrency", 20), ""},
		"the flag in two words":        {`args: [-controller-concurrency, "5"]`, nil, nil, of(5, "--controller-concurrency", 20), ""},
		"the flag says no number":      {`args: [--controller-concurrency=many]`, nil, nil, of(0, "", 20), wrong},
		"the flag says nothing":        {`args: [--controller-concurrency=0], env: [{name: BMO_CONCURRENCY, value: "3"}]`, nil, nil, of(3, "BMO_CONCURRENCY in its env", 20), ""},
		"zero":                         {`env: [{name: BMO_CONCURRENCY, value: "0"}]`, nil, nil, rule, ""},
		"no number":                    {`env: [{name: BMO_CONCURRENCY, value: "` + strings.Repeat("many", 1<<14) + `"}]`, nil, nil, of(0, "", 20), wrong},
		"no limit, but workers":        {`env: [{name: PROVISIONING_LIMIT, value: "many"}]`, nil, nil, api.Operator{Workers: 6, WorkersFrom: rule.WorkersFrom, Estimated: true}, "PROVISIONING_LIMIT in its env, \"many\": " + wrong},
		"no ConfigMap":                 {`envFrom: [{configMapRef: {name: gone}}]`, nil, nil, api.Operator{}, "ConfigMap gone is not there"},
		"a ConfigMap without a right":  {`envFrom: [{configMapRef: {name: secluded}}]`, nil, nil, api.Operator{}, "ConfigMap secluded: "},
		"an empty value in a variable": {`env: [{name: BMO_CONCURRENCY}, {name: PROVISIONING_LIMIT}]`, nil, nil, rule, ""},
	} {
		t.Run(name, func(t *testing.T) {
			var objects []client.Object
			if row.ironic != nil {
				objects = append(objects, configMap("ironic-h4sh", row.ironic))
			}
			if row.more != nil {
				objects = append(objects, configMap("more", row.more))
			}
			got, err := bmo(t, row.container, map[string]error{"secluded": forbidden("configmaps")}, objects...).Workers(t.Context())
			if (err != nil) != (row.err != "") || err != nil && (!strings.Contains(err.Error(), row.err) || !strings.HasPrefix(err.Error(), "BMO's Deployment bmo/manager: ") || len(err.Error()) > 600) {
				t.Errorf("%v, want %q", err, row.err)
			}
			if diff := cmp.Diff(row.want, got.Operator, cmpopts.IgnoreFields(got.Operator, "Deployment", "MayReach")); diff != "" || !got.Read() {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
	for cpus, want := range map[int]int{1: 2, 5: 5, 64: 8} {
		b := bmo(t, `args: []`, nil)
		b.CPUs = cpus
		if w, err := b.Workers(t.Context()); err != nil || w.Workers != want || !w.Estimated {
			t.Errorf("%d CPUs: %+v, %v", cpus, w, err)
		}
	}
}

func TestADeploymentThatCannotBeReadIsNamed(t *testing.T) {
	empty := deployment(t, `args: []`)
	empty.Spec.Template.Spec.Containers = nil
	for name, row := range map[string]struct {
		b    find.BMO
		want string
	}{
		"none": {find.BMO{Client: serving(nil), Namespace: "bmo", Deployment: "capm3/manager"},
			"BMO's Deployment capm3/manager does not exist: create it, or correct IRONIC_THROTTLE_OPERATOR_DEPLOYMENT"},
		"no right": {bmo(t, `args: []`, map[string]error{"Deployment": forbidden("deployments")}),
			"BMO's Deployment bmo/manager may not be read: the throttle's account needs the right to get it (Role ironic-throttle-operator"},
		"no container": {find.BMO{Client: serving(nil, empty), Namespace: "bmo", Deployment: "manager"}, "BMO's Deployment bmo/manager: it has no container"},
	} {
		w, err := row.b.Workers(t.Context())
		_, noIronic := row.b.Look(t.Context())
		if err == nil || w.Read() || !strings.HasPrefix(err.Error(), row.want) {
			t.Errorf("%s: %v, want %s", name, err, row.want)
		}
		if noIronic == nil || !strings.HasPrefix(noIronic.Error(), "IRONIC_ENDPOINT is not set, and Ironic is not found by itself: "+row.want) {
			t.Errorf("%s: %v, want %s", name, noIronic, row.want)
		}
	}
}

func TestIronicAsBMOFindsIt(t *testing.T) {
	const (
		mounts = `volumeMounts: [{name: ironic-credentials, mountPath: /opt/metal3/auth/ironic/}, {name: cacert, mountPath: /opt/metal3/certs/ca}]`
		here   = `envFrom: [{configMapRef: {name: ironic-h4sh}}]`
		secure = "https://172.22.0.2:6385/v1/"
	)
	auth := secret("bmo", "ironic-credentials-9c7", settings{"username": "admin", "password": "sesame\n"})
	ca := secret("bmo", "ironic-cacert", settings{"tls.crt": certificate(t)})
	by := func(endpoint string) string { return `env: [{name: IRONIC_ENDPOINT, value: "` + endpoint + `"}], ` }
	for name, row := range map[string]struct {
		container string
		data      settings
		objects   []client.Object
		change    func(*find.BMO)
		want      ironic.Access
		ca        bool
		err       string
	}{
		"nothing":       {container: `args: []`, err: "it does not say where Ironic is: set IRONIC_ENDPOINT for the throttle"},
		"the ConfigMap": {container: here, data: settings{"IRONIC_ENDPOINT": secure}, want: ironic.Access{Address: "172.22.0.2:6385", TLS: true}},
		"its env":       {container: by("http://ironic/v1") + here, data: settings{}, want: ironic.Access{Address: "ironic:80"}},
		"not the gateway": {container: by("http://127.0.0.1:6390/v1/") + here, data: settings{"IRONIC_ENDPOINT": "https://[fd00::2]"},
			want: ironic.Access{Address: "[fd00::2]:443", TLS: true}},
		"the gateway alone": {container: by("http://127.0.0.1:6390/v1/") + here, data: settings{}, err: "it does not say where Ironic is"},
		"insecure":          {container: here, data: settings{"IRONIC_ENDPOINT": secure, "IRONIC_INSECURE": "True"}, want: ironic.Access{Address: "172.22.0.2:6385", TLS: true, Insecure: true}},
		"credentials and authority": {container: here + ", " + mounts, data: settings{"IRONIC_ENDPOINT": secure}, objects: []client.Object{auth, ca},
			want: ironic.Access{Address: "172.22.0.2:6385", TLS: true, User: "admin", Password: "sesame"}, ca: true},
		"no authority without TLS": {container: here + ", " + mounts, data: settings{"IRONIC_ENDPOINT": "http://i"}, objects: []client.Object{auth},
			want: ironic.Access{Address: "i:80", User: "admin", Password: "sesame"}},
		"files of ours": {container: here + ", " + mounts, data: settings{"IRONIC_ENDPOINT": "https://u:p@i"}, change: func(b *find.BMO) { b.HasCredentials, b.HasAuthority = true, true },
			want: ironic.Access{Address: "i:443", TLS: true}},
		"credentials in the URL": {container: here, data: settings{"IRONIC_ENDPOINT": "http://u:p@i"}, want: ironic.Access{Address: "i:80", User: "u", Password: "p"}},
		"no Secret": {container: here + ", " + mounts, data: settings{"IRONIC_ENDPOINT": secure},
			err: "what it uses for Ironic, the Secret bmo/ironic-credentials-9c7, does not exist"},
		"no authority": {container: here + ", " + mounts, data: settings{"IRONIC_ENDPOINT": secure}, objects: []client.Object{auth},
			err: "what it trusts Ironic by, the Secret bmo/ironic-cacert, does not exist"},
		"a path":        {container: here, data: settings{"IRONIC_ENDPOINT": "https://u:sesame@i/baremetal/v1"}, err: `IRONIC_ENDPOINT: "https://i/baremetal" has a path`},
		"no URL":        {container: here, data: settings{"IRONIC_ENDPOINT": "ftp://ironic"}, err: "must begin with http:// or https:// (ConfigMap ironic-h4sh)"},
		"by a resource": {container: here, data: settings{"IRONIC_NAME": "my", "IRONIC_ENDPOINT": "x"}, err: "set IRONIC_NAME=my and IRONIC_NAMESPACE=bmo for the throttle too, or IRONIC_ENDPOINT"},
	} {
		t.Run(name, func(t *testing.T) {
			if row.data != nil {
				row.objects = append(row.objects, configMap("ironic-h4sh", row.data))
			}
			b := bmo(t, row.container, nil, row.objects...)
			if row.change != nil {
				row.change(&b)
			}
			got, err := b.Look(t.Context())
			if (err != nil) != (row.err != "") || err != nil && (!strings.Contains(err.Error(), row.err) || strings.Contains(err.Error(), "sesame")) {
				t.Errorf("%v, want %q", err, row.err)
			}
			if (got.CA != nil) != row.ca {
				t.Errorf("an authority: %t, want %t", got.CA != nil, row.ca)
			}
			if got.CA = nil; got != row.want {
				t.Errorf("%+v, want %+v", got, row.want)
			}
		})
	}
}
