{{/* The name of the chart. */}}
{{- define "nodewise.name" -}}
{{- default .Chart.Name .Values.nameOverride | trunc 63 | trimSuffix "-" }}
{{- end }}

{{/* The full name of the release: 63 characters at most, since some names are labels. */}}
{{- define "nodewise.fullname" -}}
{{- if .Values.fullnameOverride }}
{{- .Values.fullnameOverride | trunc 63 | trimSuffix "-" }}
{{- else }}
{{- $name := default .Chart.Name .Values.nameOverride }}
{{- if contains $name .Release.Name }}
{{- .Release.Name | trunc 63 | trimSuffix "-" }}
{{- else }}
{{- printf "%s-%s" .Release.Name $name | trunc 63 | trimSuffix "-" }}
{{- end }}
{{- end }}
{{- end }}

{{- define "nodewise.chart" -}}
{{- printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" | trunc 63 | trimSuffix "-" }}
{{- end }}

{{- define "nodewise.labels" -}}
helm.sh/chart: {{ include "nodewise.chart" . }}
{{ include "nodewise.selectorLabels" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/component: scheduler
app.kubernetes.io/managed-by: {{ .Release.Service }}
{{- end }}

{{- define "nodewise.selectorLabels" -}}
app.kubernetes.io/name: {{ include "nodewise.name" . }}
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}

{{- define "nodewise.serviceAccountName" -}}
{{- if .Values.serviceAccount.create }}
{{- default (include "nodewise.fullname" .) .Values.serviceAccount.name }}
{{- else }}
{{- default "default" .Values.serviceAccount.name }}
{{- end }}
{{- end }}

{{/* Cluster-wide names have the namespace in them: two releases of one name may stand in two namespaces. */}}
{{- define "nodewise.clusterName" -}}
{{- printf "%s:%s" .Release.Namespace (include "nodewise.fullname" .) }}
{{- end }}

{{- define "nodewise.leaderElects" -}}
{{- if and .Values.leaderElection.enabled (not .Values.dryRun) }}true{{ end }}
{{- end }}

{{- define "nodewise.leaseName" -}}
{{- default (include "nodewise.fullname" .) .Values.leaderElection.resourceName }}
{{- end }}

{{- define "nodewise.leaseNamespace" -}}
{{- default .Release.Namespace .Values.leaderElection.resourceNamespace }}
{{- end }}

{{/* The KubeSchedulerConfiguration. */}}
{{- define "nodewise.configuration" -}}
apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
leaderElection:
{{- if include "nodewise.leaderElects" . }}
  leaderElect: true
  resourceName: {{ include "nodewise.leaseName" . }}
  resourceNamespace: {{ include "nodewise.leaseNamespace" . }}
{{- else }}
  leaderElect: false
{{- end }}
{{- with .Values.configuration }}
{{ toYaml . }}
{{- end }}
profiles:
{{- if .Values.profiles }}
{{ toYaml .Values.profiles | indent 2 }}
{{- else }}
  - schedulerName: {{ .Values.schedulerName }}
{{- end }}
{{- end }}

{{- define "nodewise.subject" -}}
subjects:
  - kind: ServiceAccount
    name: {{ include "nodewise.serviceAccountName" . }}
    namespace: {{ .Release.Namespace }}
{{- end }}
