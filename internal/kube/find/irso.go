package find

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/ironic-throttle/ironic-throttle/internal/kube/objects"
	"github.com/ironic-throttle/ironic-throttle/pkg/ironic"
)

// IrSO names an Ironic resource (IRONIC_NAME).
type IrSO struct {
	Client          client.Client
	Namespace, Name string
}

// Look looks for Ironic as BMO does. An error names the first thing that is missing, and says what to do.
func (i IrSO) Look(ctx context.Context) (found ironic.Access, err error) {
	me := fmt.Sprintf("IRONIC_NAME=%s: the Ironic resource %s/%s", i.Name, i.Namespace, i.Name)
	r := reader{i.Client, i.Namespace, "component irso"}
	var of objects.Ironic
	if err := r.get(ctx, me, i.Name, &of); err != nil {
		return found, err
	}
	if why := unready(&of); why != "" {
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
func unready(of *objects.Ironic) string {
	ready := meta.FindStatusCondition(of.Status.Conditions, "Ready")
	switch {
	case ready == nil || ready.ObservedGeneration != of.Generation:
		return "IrSO has not taken up its last change. Does ironic-standalone-operator run?"
	case ready.Status != metav1.ConditionTrue:
		return ironic.Line(ready.Message, maxFault)
	}
	return ""
}
