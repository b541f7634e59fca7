package find

import (
	"context"
	"errors"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/ironic-throttle/ironic-throttle/pkg/ironic"
)

// IrSO names an Ironic resource (IRONIC_NAME).
type IrSO struct {
	Client          client.Client
	Namespace, Name string
}

// resource is what is read of an Ironic resource. It is not IrSO's own type: one field of another shape, in a version to
// come, would end the decoding of all.
type resource struct {
	Spec struct {
		APICredentialsName string `json:"apiCredentialsName"`
		TLS                struct {
			CertificateName string `json:"certificateName"`
		} `json:"tls"`
	} `json:"spec"`
	Status struct {
		Conditions []struct {
			Type               string `json:"type"`
			Status             string `json:"status"`
			ObservedGeneration int64  `json:"observedGeneration"`
			Message            string `json:"message"`
		} `json:"conditions"`
	} `json:"status"`
}

var ironicKind = schema.GroupVersionKind{Group: "ironic.metal3.io", Version: "v1alpha1", Kind: "Ironic"}

// Look looks for Ironic as BMO does. An error names the first thing that is missing, and says what to do.
func (i IrSO) Look(ctx context.Context) (found ironic.Access, err error) {
	me := fmt.Sprintf("IRONIC_NAME=%s: the Ironic resource %s/%s", i.Name, i.Namespace, i.Name)
	r := reader{i.Client, i.Namespace, "component irso"}
	o := &unstructured.Unstructured{}
	o.SetGroupVersionKind(ironicKind)
	switch err := r.get(ctx, me, i.Name, "IRONIC_NAME and IRONIC_NAMESPACE", o); {
	case errors.Is(err, errNoKind):
		return found, fmt.Errorf("%w (ironic.metal3.io/v1alpha1): install ironic-standalone-operator, or unset IRONIC_NAME and set IRONIC_ENDPOINT", err)
	case err != nil:
		return found, err
	}
	var of resource
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(o.Object, &of); err != nil {
		return found, fmt.Errorf("%s cannot be read: %s", me, line(err))
	}
	if why := of.unready(o.GetGeneration()); why != "" {
		return found, fmt.Errorf("%s is not ready: %s", me, why)
	}
	if of.Spec.APICredentialsName == "" {
		return found, fmt.Errorf("%s has no spec.apiCredentialsName: IrSO sets it. Does ironic-standalone-operator run?", me)
	}
	host := i.Name + "." + i.Namespace + ".svc" // of IrSO's Service
	found.Address = host + ":80"
	if err := r.logIn(ctx, me+": its spec.apiCredentialsName", of.Spec.APICredentialsName, &found); err != nil {
		return ironic.Access{}, err
	}
	if name := of.Spec.TLS.CertificateName; name != "" {
		found.Address, found.TLS = host+":443", true
		if err := r.trust(ctx, me+": its spec.tls.certificateName", name, &found); err != nil {
			return ironic.Access{}, err
		}
	}
	return found, nil
}

// unready says why the resource is not ready by BMO's rule; "" = it is.
func (r *resource) unready(generation int64) string {
	for _, c := range r.Status.Conditions {
		switch {
		case c.Type != "Ready" || c.ObservedGeneration != generation:
		case c.Status == string(metav1.ConditionTrue):
			return ""
		default:
			return ironic.Line(c.Message, maxFault)
		}
	}
	return "IrSO has not taken up its last change. Does ironic-standalone-operator run?"
}
