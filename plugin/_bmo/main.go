// throttled-provisioner.so: Ironic's provisioner of the BareMetal Operator, which asks
// ironic-throttle before it starts work on a host (docs/plugin.md). ../build.sh builds it inside a
// checkout of the operator: the operator's own packages and ../asker have to be those that it was
// built with, or lie in its module. Nothing here decides; asker does, and has the tests.
package main

import (
	"cmp"
	"context"
	"os"
	"reflect"
	"time"

	metal3api "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"
	"github.com/metal3-io/baremetal-operator/pkg/hardwareutils/bmc"
	"github.com/metal3-io/baremetal-operator/pkg/provisioner"
	"github.com/metal3-io/baremetal-operator/pkg/provisioner/ironic"
	"github.com/metal3-io/baremetal-operator/pkg/provisioner/throttled/asker"
	ironicv1alpha1 "github.com/metal3-io/ironic-standalone-operator/api/v1alpha1"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/ironic-throttle/ironic-throttle/pkg/api"
)

// PluginName is what -provisioner has to say.
func PluginName() string { return "throttled" }

// ironicResource is the Ironic resource that Ironic's own plugin would use, where there is one.
func ironicResource(namespace string) (name, in string) {
	return os.Getenv("IRONIC_NAME"), cmp.Or(os.Getenv("IRONIC_NAMESPACE"), namespace)
}

// HostConfigure asks the operator for what Ironic's own plugin asks for.
func HostConfigure(input provisioner.HostConfigureInput) (provisioner.HostRequirements, error) {
	needs := provisioner.HostRequirements{AddToScheme: ironicv1alpha1.AddToScheme}
	if name, namespace := ironicResource(input.ProvisionerNamespace); name != "" && namespace != "" {
		needs.CacheByObject = map[client.Object]cache.ByObject{
			&ironicv1alpha1.Ironic{}: {Namespaces: map[string]cache.Config{namespace: {}}},
		}
	}
	return needs, nil
}

// NewProvisionerFactory puts the throttle before the provisioners of Ironic's own factory.
func NewProvisionerFactory(config provisioner.PluginConfig) (provisioner.Factory, error) {
	throttle, err := asker.NewClient(os.Getenv)
	if err != nil {
		return nil, err
	}
	inner, err := ironicFactory(config)
	if err != nil {
		return nil, err
	}
	return factory{inner, config, throttle}, nil
}

func ironicFactory(config provisioner.PluginConfig) (provisioner.Factory, error) {
	log, builds := config.Logger.WithName("ironic"), config.HasFeature(provisioner.FeaturePreprovisioningImage)
	name, namespace := ironicResource(config.ProvisionerNamespace)
	if config.K8sClient != nil && name != "" && namespace != "" {
		return ironic.NewProvisionerFactoryWithClient(log, builds, config.K8sClient, config.APIReader, name, namespace)
	}
	return ironic.NewProvisionerFactory(log, builds)
}

type factory struct {
	provisioner.Factory
	config   provisioner.PluginConfig
	throttle *api.Client
}

func (f factory) NewProvisioner(
	ctx context.Context, data provisioner.HostData, publish provisioner.EventPublisher,
) (provisioner.Provisioner, error) {
	inner, err := f.Factory.NewProvisioner(ctx, data, publish)
	if err != nil {
		return nil, err
	}
	key := client.ObjectKey{Namespace: data.ObjectMeta.Namespace, Name: data.ObjectMeta.Name}
	read := func(ctx context.Context) (asker.Host, error) {
		var host metal3api.BareMetalHost
		if err := f.config.K8sClient.Get(ctx, key, &host); err != nil {
			return asker.Host{}, err
		}
		return hostOf(&host, data), nil
	}
	log := f.config.Logger.WithName("throttled").WithValues("host", key)
	return throttled{inner, asker.Gate{Throttle: f.throttle, Read: read, Log: log}}, nil
}

// hostOf is what the throttle is told of a host.
func hostOf(host *metal3api.BareMetalHost, data provisioner.HostData) asker.Host {
	access, err := bmc.NewAccessDetails(data.BMCAddress, data.DisableCertificateVerification)
	image := ""
	if host.Spec.Image != nil {
		image = host.Spec.Image.URL
	}
	return asker.Host{
		Ask: api.Ask{
			Namespace: host.Namespace, Name: host.Name, UID: string(host.UID), NodeUUID: host.Status.Provisioning.ID,
			BMHState:   api.BMHState(host.Status.Provisioning.State),
			ErrorCount: host.Status.ErrorCount, ProvisioningFailCount: host.Status.ProvisioningFailCount,
			Deleting: !host.DeletionTimestamp.IsZero(), VirtualMedia: err == nil && access.SupportsISOPreprovisioningImage(),
		},
		Inspects: !host.InspectionDisabled(), WantsImage: host.NeedsProvisioning(),
		LosesImage: host.Status.Provisioning.Image.URL != image,
	}
}

// throttled is Ironic's provisioner of one host. Only what can start work waits. BMO's other
// methods are Ironic's.
type throttled struct {
	provisioner.Provisioner
	gate asker.Gate
}

// later is what BMO is told when the host has to wait: call again, nothing has happened.
func later(wait time.Duration) provisioner.Result {
	return provisioner.Result{Dirty: true, RequeueAfter: wait}
}

func (t throttled) HasCapacity(ctx context.Context) (bool, error) {
	return t.gate.HasCapacity(ctx, t.Provisioner.HasCapacity)
}

func (t throttled) InspectHardware(
	ctx context.Context, data provisioner.InspectData, restartOnFailure, refresh, forceReboot bool,
) (provisioner.Result, bool, *metal3api.HardwareDetails, error) {
	if wait := t.gate.Wait(ctx, api.OpInspect); wait > 0 {
		return later(wait), false, nil, nil
	}
	return t.Provisioner.InspectHardware(ctx, data, restartOnFailure, refresh, forceReboot)
}

// Prepare waits where there is something to clean; most hosts are only looked at here.
func (t throttled) Prepare(
	ctx context.Context, data provisioner.PrepareData, unprepared, restartOnFailure bool,
) (provisioner.Result, bool, error) {
	raid := !reflect.DeepEqual(data.TargetRAIDConfig, data.ActualRAIDConfig)
	if unprepared && (raid || len(data.TargetFirmwareSettings) > 0 || len(data.TargetFirmwareComponents) > 0) {
		if wait := t.gate.Wait(ctx, api.OpPrepare); wait > 0 {
			return later(wait), false, nil
		}
	}
	return t.Provisioner.Prepare(ctx, data, unprepared, restartOnFailure)
}

// Service waits where there is something to change, too.
func (t throttled) Service(
	ctx context.Context, data provisioner.ServicingData, unprepared, restartOnFailure bool,
) (provisioner.Result, bool, error) {
	if data.HasFirmwareSpec && (unprepared || restartOnFailure) {
		if wait := t.gate.Wait(ctx, api.OpService); wait > 0 {
			return later(wait), false, nil
		}
	}
	return t.Provisioner.Service(ctx, data, unprepared, restartOnFailure)
}

func (t throttled) Provision(
	ctx context.Context, data provisioner.ProvisionData, forceReboot bool,
) (provisioner.Result, error) {
	if wait := t.gate.Wait(ctx, api.OpProvision); wait > 0 {
		return later(wait), nil
	}
	return t.Provisioner.Provision(ctx, data, forceReboot)
}

func (t throttled) Deprovision(
	ctx context.Context, restartOnFailure bool, cleaning metal3api.AutomatedCleaningMode,
) (provisioner.Result, error) {
	if wait := t.gate.Wait(ctx, api.OpDeprovision); wait > 0 {
		return later(wait), nil
	}
	return t.Provisioner.Deprovision(ctx, restartOnFailure, cleaning)
}
