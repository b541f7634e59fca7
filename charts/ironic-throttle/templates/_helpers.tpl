{{- /* Several replicas, of which one is elected. */}}
{{- define "elects" }}{{ if gt (int .Values.replicas) 1 }}true{{ end }}{{ end }}

{{- /* Whether the Secret ironic-throttle-tls is used. */}}
{{- define "serves-tls" }}{{ if or .Values.gatewayService .Values.apiService .Values.monitoring }}true{{ end }}{{ end }}

{{- define "labels" -}}
app.kubernetes.io/name: ironic-throttle
app.kubernetes.io/part-of: metal3
{{- end }}

{{- /* Files of deploy/ as they are, in the namespace of the release: (list $ "components/irso/role.yaml" ...). */}}
{{- define "files" }}
{{- $top := first . }}
{{- range rest . }}
---
{{ required . ($top.Files.Get .) | replace "baremetal-operator-system" $top.Release.Namespace | trim }}
{{- end }}
{{- end }}
