package config

import (
	"strings"
	"testing"
)

// TestNamesInTheEnvironment: what is nearly a name of ours is a start error; names of others never are. More of the former are in
// testdata/config.
func TestNamesInTheEnvironment(t *testing.T) {
	for _, row := range []struct{ entry, want string }{
		{"IRONIC_THROTTLE_POLL_INTERVALL=1s", "; did you mean IRONIC_THROTTLE_POLL_INTERVAL?"},
		{"IRONIC_THROTTLE_IRONIC_ENDPOINT=x", "; did you mean IRONIC_ENDPOINT?"},
		{"IRONIC_THROTTLE_BREAKER_ENABELD=true", "; did you mean IRONIC_THROTTLE_BREAKER_ENABLED?"},
		{"IRONIC_THROTTLE_SUPPORT=tcp", "is not a setting"},
		{"IRONIC_THROTTLE_=x", "is not a setting"},
		{"STUCK_AFTER=hunter2", "is not read: the name is IRONIC_THROTTLE_STUCK_AFTER"},
		{"max_concurrent_provisioning_hosts=5", "; did you mean MAX_CONCURRENT_PROVISIONING_HOSTS?"},
		{"IRONIC_THROTTLE_POLL_INTERVALL=", ""},
		{"IRONIC_THROTTLE_URL=http://x", ""}, {"IRONIC_THROTTLE_TOKEN_FILE=/t", ""}, {"IRONIC_THROTTLE_CA_FILE=/c", ""},
		{"broken entry", ""}, {"", ""},
		// What Kubernetes adds for Services named ironic-throttle and ironic-throttle-metrics.
		{"IRONIC_THROTTLE_SERVICE_HOST=10.0.0.1", ""}, {"IRONIC_THROTTLE_SERVICE_PORT_HTTP=8087", ""},
		{"IRONIC_THROTTLE_PORT=tcp://10.0.0.1:8087", ""}, {"IRONIC_THROTTLE_PORT_8087_TCP_ADDR=10.0.0.1", ""},
		{"IRONIC_THROTTLE_METRICS_PORT_8444_TCP=tcp://10.0.0.1:8444", ""},
		// Others have variables of these names too.
		{"MODE=production", ""}, {"CONFIG=release", ""}, {"KUBERNETES=1", ""}, {"DISRUPTION=none", ""}, {"LOG_LEVEL=trace", ""},
		{"LOG_FORMAT=logfmt", ""}, {"LISTEN_ADDRESS=9090", ""}, {"POLL_INTERVAL=10", ""}, {"LEADER_ELECT=1", ""}, {"API_ACCESS=x", ""}, {"LINGER=1", ""},
	} {
		_, warnings, faults := load(t, row.entry)
		got := strings.Join(faults, "\n")
		if (row.want == "") != (got == "") || !strings.HasSuffix(got, row.want) || warnings != nil || strings.Contains(got, "hunter2") {
			t.Errorf("%s: faults %q, warnings %q, want %q", row.entry, faults, warnings, row.want)
		}
	}
	// Who gave the setting by its own name knows it.
	if _, _, faults := load(t, "COUNT_MODE=x", ours("COUNT_MODE", "busy")); faults != nil {
		t.Error(faults)
	}
}

// TestNamesOfOthersAreNeverNearOurs: base takes the whole ConfigMap ironic, which BMO and Ironic's image read.
func TestNamesOfOthersAreNeverNearOurs(t *testing.T) {
	const names = `PROVISIONING_LIMIT BMO_CONCURRENCY_X HTTP_PORT PROVISIONING_INTERFACE PROVISIONING_IP PROVISIONING_CIDR DHCP_RANGE DHCP_HOSTS
		DEPLOY_KERNEL_URL DEPLOY_RAMDISK_URL DEPLOY_ISO_URL DEPLOY_ARCHITECTURE IRONIC_INSPECTOR_ENDPOINT CACHEURL IRONIC_FAST_TRACK IRONIC_KERNEL_PARAMS
		IRONIC_INSPECTOR_VLAN_INTERFACES IRONIC_CERT_FILE IRONIC_KEY_FILE IRONIC_CA_CERT_FILE IRONIC_CACERT_DIR IRONIC_IP IRONIC_URL_HOSTNAME IRONIC_BASE_URL IRONIC_LISTEN_PORT
		IRONIC_PRIVATE_PORT IRONIC_HTPASSWD IRONIC_REVERSE_PROXY_SETUP IRONIC_USE_MARIADB IRONIC_EXPOSE_JSON_RPC IRONIC_RAMDISK_SSH_KEY IRONIC_VMEDIA_CERT_FILE
		IRONIC_VMEDIA_KEY_FILE IRONIC_TRUSTED_CA IRONIC_SKIP_CLIENT_SAN_VERIFY IRONIC_CLIENT_TIMEOUT IRONIC_CLIENT_KEY_FILE IRONIC_CLIENT_CERT IRONIC_BOOT_ISO_SOURCE
		IRONIC_ENABLE_VLAN_INTERFACES IRONIC_INSECURES IRONIC_NAMES VMEDIA_TLS_PORT LISTEN_ALL_INTERFACES RESTART_CONTAINER_CERTIFICATE_UPDATED
		INSPECTOR_REVERSE_PROXY_SETUP USE_IRONIC_INSPECTOR LIVE_ISO_FORCE_PERSISTENT_BOOT_DEVICE ENABLE_HOST_CLAIMS WATCH_NAMESPACES POD_NAMESPACE METRICS_BIND_ADDRESS
		LEASE_DURATION_SECONDS RENEW_DEADLINE_SECONDS RETRY_PERIOD_SECONDS MAX_CONCURRENT_RECONCILES METAL3_AUTH_ROOT HOST_IP SEND_SENSORS PXE_DEPLOY_ISO`
	for _, name := range strings.Fields(names) {
		if _, warnings, faults := load(t, name+"=7"); warnings != nil || faults != nil {
			t.Errorf("%s: faults %q, warnings %q", name, faults, warnings)
		}
	}
}
