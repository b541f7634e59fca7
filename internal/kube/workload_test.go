package kube_test

import (
	"cmp"
	"context"
	"encoding/base64"
	"encoding/pem"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"go.uber.org/goleak"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/ironic-throttle/ironic-throttle/internal/kube"
	"github.com/ironic-throttle/ironic-throttle/pkg/disruption"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var blue = disruption.Key{Namespace: "metal3", Name: "blue"}

// management is the throttle's own cluster, with that in the Secret of blue; "": there is none. It may refuse to show Secrets.
func management(t *testing.T, refused error, kubeconfig string) client.Client {
	t.Helper()
	c := fake.NewClientBuilder().WithScheme(scheme.Scheme).WithInterceptorFuncs(interceptor.Funcs{
		Get: func(ctx context.Context, c client.WithWatch, key client.ObjectKey, o client.Object, options ...client.GetOption) error {
			return cmp.Or(refused, c.Get(ctx, key, o, options...))
		},
	}).Build()
	if kubeconfig != "" {
		hold(t, c, kubeconfig)
	}
	return c
}

// hold puts a kubeconfig into the Secret of blue.
func hold(t *testing.T, c client.Client, kubeconfig string) {
	t.Helper()
	s := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "metal3", Name: "blue-kubeconfig"}, Data: map[string][]byte{"value": []byte(strings.TrimSpace(kubeconfig))}}
	err := c.Create(t.Context(), s)
	if apierrors.IsAlreadyExists(err) {
		s.ResourceVersion = ""
		err = c.Update(t.Context(), s)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// kubeconfig leads to a server, with more about it and about the user.
func kubeconfig(server, cluster, user string) string {
	return fmt.Sprintf("{kind: Config, current-context: c, contexts: [{name: c, context: {cluster: c, user: u}}], "+
		"clusters: [{name: c, cluster: {server: %q%s}}], users: [{name: u, user: {%s}}]}", server, cluster, user)
}

// TestWhatGivesNoClient, and what is said of it.
func TestWhatGivesNoClient(t *testing.T) {
	const server, refused = "https://192.0.2.1:6443", "may neither run programs nor name files"
	forbidden := apierrors.NewForbidden(schema.GroupResource{Resource: "secrets"}, "blue-kubeconfig", errors.New("no, said RBAC"))
	for name, row := range map[string]struct {
		refused    error
		kubeconfig string
		want       string
	}{
		"absent":           {nil, "", "there is no Secret blue-kubeconfig"},
		"empty":            {nil, " ", "cannot be used: it has nothing under the key value"},
		"forbidden":        {forbidden, "", "the throttle may not get the Secret blue-kubeconfig (docs/planned-work.md, workload clusters)"},
		"away":             {errors.New("connection refused"), "", "the Secret blue-kubeconfig cannot be read: connection refused"},
		"garbage":          {nil, "[", "the Secret blue-kubeconfig cannot be used"},
		"no context":       {nil, "{kind: Config}", "the Secret blue-kubeconfig cannot be used"},
		"a program":        {nil, kubeconfig(server, "", "exec: {apiVersion: client.authentication.k8s.io/v1, command: sh, interactiveMode: Never}"), refused},
		"a plugin":         {nil, kubeconfig(server, "", "auth-provider: {name: oidc}"), refused},
		"a file of tokens": {nil, kubeconfig(server, "", "tokenFile: /var/run/secrets/kubernetes.io/serviceaccount/token"), refused},
		"a file of a CA":   {nil, kubeconfig(server, ", certificate-authority: /etc/passwd", "token: a"), refused},
		"a certificate":    {nil, kubeconfig(server, "", "client-certificate: /etc/passwd"), refused},
		"a key":            {nil, kubeconfig(server, "", "client-key: /etc/passwd"), refused},
	} {
		t.Run(name, func(t *testing.T) {
			m := management(t, row.refused, row.kubeconfig)
			if c, err := kube.NewClusters(m, "it").Client(t.Context(), blue); c != nil || err == nil || !strings.Contains(err.Error(), row.want) {
				t.Errorf("%v, want %s", err, row.want)
			}
		})
	}
	m := management(t, forbidden, "")
	if c, err := kube.NewClusters(m, "it").Client(t.Context(), disruption.Key{}); err != nil || c == nil {
		t.Errorf("the own cluster: %v, %v", c, err)
	}
}

// TestCredentialsAreFollowed: a Secret that was renewed counts for the next request.
func TestCredentialsAreFollowed(t *testing.T) {
	var told []string
	server := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		told = append(told, r.Header.Get("Authorization")+" "+r.UserAgent())
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprint(w, `{"kind":"NodeList","apiVersion":"v1","metadata":{"resourceVersion":"1"},"items":[{"metadata":{"name":"n"}}]}`)
	}))
	defer server.Close()
	authority := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})
	m := management(t, nil, "")
	clusters := kube.NewClusters(m, "it")
	made := map[client.Client]bool{}
	for _, token := range []string{"old", "new"} {
		hold(t, m, kubeconfig(server.URL, fmt.Sprintf(", certificate-authority-data: %q", base64.StdEncoding.EncodeToString(authority)), "token: "+token))
		for range 2 {
			c, err := clusters.Client(t.Context(), blue)
			if err != nil {
				t.Fatal(err)
			}
			made[c] = true
			if err := c.List(t.Context(), &corev1.NodeList{}); err != nil {
				t.Fatal(err)
			}
		}
	}
	const want = "Bearer old it, Bearer old it, Bearer new it, Bearer new it"
	if got := strings.Join(told, ", "); got != want || len(made) != 2 {
		t.Errorf("%d clients have told the server %s", len(made), got)
	}
}
