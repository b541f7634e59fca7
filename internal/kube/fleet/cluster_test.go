package fleet_test

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/apimachinery/pkg/util/yaml"
	kubescheme "k8s.io/client-go/kubernetes/scheme"
	k8stesting "k8s.io/client-go/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/ironic-throttle/ironic-throttle/internal/kube/fleet"
	"github.com/ironic-throttle/ironic-throttle/internal/kube/objects"
	"github.com/ironic-throttle/ironic-throttle/pkg/disruption"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var noon = time.Date(2026, 11, 24, 12, 0, 0, 0, time.UTC)

var scheme = func() *runtime.Scheme {
	s := runtime.NewScheme()
	if err := kubescheme.AddToScheme(s); err != nil {
		panic(err)
	}
	if err := objects.Add(s); err != nil {
		panic(err)
	}
	return s
}()

// cluster is an API server with objects.
type cluster struct {
	client.WithWatch

	served  []string           // versions of Cluster API and its provider
	asked   []string           // kinds, with their namespace where one is asked for
	perPage int                // 0: what is asked for
	fault   func(string) error // instead of an answer
	empty   string             // the kind of which a {} is answered

	others map[string]client.Client // workload clusters by NAMESPACE/NAME
	silent bool                     // no other one answers
}

// clusterOf has the objects of a YAML text.
func clusterOf(t testing.TB, text string) *cluster {
	t.Helper()
	c := &cluster{served: []string{objects.MachineGroup + "/v1beta2", objects.InfrastructureGroup + "/v1beta1"}, fault: func(string) error { return nil }}
	codecs := serializer.NewCodecFactory(scheme)
	tracker := k8stesting.NewObjectTracker(scheme, codecs.UniversalDecoder()) // the usual one minds who owns a field: slow
	c.WithWatch = fake.NewClientBuilder().WithScheme(scheme).WithObjectTracker(tracker).WithInterceptorFuncs(interceptor.Funcs{List: c.list}).Build()
	for documents := yaml.NewYAMLToJSONDecoder(strings.NewReader(text)); ; {
		var one json.RawMessage
		if err := documents.Decode(&one); errors.Is(err, io.EOF) {
			return c
		} else if err != nil {
			t.Fatalf("%v in %s", err, text)
		}
		decoded, err := runtime.Decode(codecs.UniversalDeserializer(), one)
		if err != nil {
			t.Fatalf("%v in %s", err, one)
		}
		o := decoded.(client.Object)
		kind, going := o.GetObjectKind().GroupVersionKind(), o.GetDeletionTimestamp() != nil
		if o.SetDeletionTimestamp(nil); going {
			o.SetFinalizers([]string{"example.org/stays"})
		}
		if err := c.Create(t.Context(), o); err != nil {
			t.Fatal(err)
		}
		if going {
			if err := c.Delete(t.Context(), objects.As(o, kind)); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// list answers with pages, as an API server does and the fake does not.
func (c *cluster) list(ctx context.Context, of client.WithWatch, list client.ObjectList, options ...client.ListOption) error {
	o := (&client.ListOptions{}).ApplyOptions(options)
	gvk, err := of.GroupVersionKindFor(list)
	if err != nil {
		return err
	}
	kind := strings.TrimSuffix(gvk.Kind, "List")
	c.asked = append(c.asked, strings.TrimSuffix(kind+" "+o.Namespace, " "))
	if version := gvk.GroupVersion().String(); strings.Contains(version, objects.MachineGroup) && !slices.Contains(c.served, version) {
		return notFound(kind)
	}
	if err := c.fault(kind + o.Continue); err != nil {
		return err
	}
	if kind == c.empty {
		return nil
	}
	if err := of.List(ctx, list, client.InNamespace(o.Namespace)); err != nil {
		return err
	}
	items, err := meta.ExtractList(list)
	if err != nil {
		return err
	}
	from, _ := strconv.Atoi(o.Continue)
	to := min(from+cmp.Or(c.perPage, int(o.Limit)), len(items))
	list.SetResourceVersion("7")
	if list.SetContinue(""); to < len(items) {
		list.SetContinue(strconv.Itoa(to))
	}
	return meta.SetList(list, items[from:to])
}

// client is the Client of Options.
func (c *cluster) client(ctx context.Context, of disruption.Key) (client.Client, error) {
	if of == (disruption.Key{}) {
		return c, nil
	}
	if other := c.others[of.String()]; other != nil {
		return other, nil
	}
	if c.silent {
		<-ctx.Done()
	}
	return nil, fmt.Errorf("nobody knows %v", of)
}

func (c *cluster) reader() *fleet.Reader {
	return fleet.New(fleet.Options{Client: c.client, Now: func() time.Time { return noon }})
}

func (c *cluster) read(t testing.TB) disruption.State {
	t.Helper()
	s, err := c.reader().Read(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func file(t testing.TB, name string) string {
	t.Helper()
	text, err := os.ReadFile("testdata/" + name)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func notFound(kind string) error {
	return apierrors.NewNotFound(schema.GroupResource{Resource: kind}, "")
}
