{{- define "warpwatch-agent.name" -}}
{{- default .Chart.Name .Values.nameOverride | trunc 63 | trimSuffix "-" }}
{{- end }}

{{- define "warpwatch-agent.fullname" -}}
{{- if .Values.fullnameOverride }}
{{- .Values.fullnameOverride | trunc 63 | trimSuffix "-" }}
{{- else if contains (include "warpwatch-agent.name" .) .Release.Name }}
{{- .Release.Name | trunc 63 | trimSuffix "-" }}
{{- else }}
{{- printf "%s-%s" .Release.Name (include "warpwatch-agent.name" .) | trunc 63 | trimSuffix "-" }}
{{- end }}
{{- end }}

{{- define "warpwatch-agent.selector" -}}
app.kubernetes.io/name: {{ include "warpwatch-agent.name" . }}
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}

{{- define "warpwatch-agent.labels" -}}
{{ include "warpwatch-agent.selector" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" }}
{{- end }}

{{- define "warpwatch-agent.tokenSecret" -}}
{{- default (include "warpwatch-agent.fullname" .) .Values.token.secretName }}
{{- end }}

{{- define "warpwatch-agent.serviceAccount" -}}
{{- if .Values.serviceAccount.create }}
{{- default (include "warpwatch-agent.fullname" .) .Values.serviceAccount.name }}
{{- else }}
{{- default "default" .Values.serviceAccount.name }}
{{- end }}
{{- end }}

{{- define "warpwatch-agent.image" -}}
{{- if .Values.image.digest }}
{{- printf "%s@%s" .Values.image.repository .Values.image.digest }}
{{- else }}
{{- printf "%s:%s" .Values.image.repository (default .Chart.AppVersion .Values.image.tag) }}
{{- end }}
{{- end }}

{{- /* How a monitor of the Prometheus operator scrapes one agent. The agent names its node and the workloads itself. */}}
{{- define "warpwatch-agent.endpoint" -}}
- port: metrics
  interval: {{ .monitor.interval }}
  honorLabels: true
  {{- if .root.Values.token.enabled }}
  authorization:
    credentials: {name: {{ include "warpwatch-agent.tokenSecret" .root }}, key: token}
  {{- end }}
  {{- if .root.Values.tls.secretName }}
  scheme: https
  tlsConfig:
    ca:
      secret: {name: {{ .root.Values.tls.secretName }}, key: ca.crt}
    serverName: {{ include "warpwatch-agent.fullname" .root }}
    {{- if .root.Values.tls.clientCertificates }}
    cert:
      secret: {name: {{ .root.Values.tls.secretName }}, key: tls.crt}
    keySecret: {name: {{ .root.Values.tls.secretName }}, key: tls.key}
    {{- end }}
  {{- end }}
  relabelings:
    # For `up`, which the agent does not label.
    - {sourceLabels: [__meta_kubernetes_pod_node_name], targetLabel: node}
    # The workload's labels have these names.
    - {regex: namespace|pod|container, action: labeldrop}
    {{- with .monitor.relabelings }}
    {{- toYaml . | nindent 4 }}
    {{- end }}
{{- end }}
