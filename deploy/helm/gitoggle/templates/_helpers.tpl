{{- define "gitoggle.name" -}}
{{- .Values.nameOverride | default .Chart.Name | trunc 47 | trimSuffix "-" -}}
{{- end -}}

{{/* At most 47 characters, because the name of a CronJob has at most 52, and `-held` is appended. */}}
{{- define "gitoggle.fullname" -}}
{{- $name := include "gitoggle.name" . -}}
{{- if .Values.fullnameOverride -}}
{{- .Values.fullnameOverride | trunc 47 | trimSuffix "-" -}}
{{- else if contains $name .Release.Name -}}
{{- .Release.Name | trunc 47 | trimSuffix "-" -}}
{{- else -}}
{{- printf "%s-%s" .Release.Name $name | trunc 47 | trimSuffix "-" -}}
{{- end -}}
{{- end -}}

{{- define "gitoggle.selector" -}}
app.kubernetes.io/name: {{ include "gitoggle.name" . }}
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end -}}

{{/* The labels of the pod of `helm test`, which the Service must not select. */}}
{{- define "gitoggle.testSelector" -}}
app.kubernetes.io/name: {{ include "gitoggle.name" . }}-test
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end -}}

{{- define "gitoggle.chartLabels" -}}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" }}
{{- end -}}

{{- define "gitoggle.labels" -}}
{{ include "gitoggle.selector" . }}
{{ include "gitoggle.chartLabels" . }}
{{- end -}}

{{- define "gitoggle.image" -}}
{{- if .Values.image.digest -}}
{{- printf "%s@%s" .Values.image.repository .Values.image.digest -}}
{{- else -}}
{{- printf "%s:%s" .Values.image.repository (.Values.image.tag | default .Chart.AppVersion) -}}
{{- end -}}
{{- end -}}

{{- define "gitoggle.serviceAccountName" -}}
{{- if .Values.serviceAccount.create -}}
{{- .Values.serviceAccount.name | default (include "gitoggle.fullname" .) -}}
{{- else -}}
{{- .Values.serviceAccount.name | default "default" -}}
{{- end -}}
{{- end -}}

{{/* `Deployment`, `StatefulSet` or `CronJob`. */}}
{{- define "gitoggle.kind" -}}
{{- if eq .Values.mode "cronjob" -}}
CronJob
{{- else if and (gt (int .Values.replicas) 1) .Values.persistence.enabled -}}
StatefulSet
{{- else -}}
Deployment
{{- end -}}
{{- end -}}

{{/* The secrets of gitoggle. With the sidecar, only git-sync needs the repository's password. */}}
{{- define "gitoggle.secrets" -}}
{{- range $setting, $key := .Values.secret.keys -}}
{{- if and $key (or (ne $setting "git_password") (not $.Values.sidecar.enabled) $.Values.config.state_remote) }}
{{ $setting }}: {{ $key | quote }}
{{- end -}}
{{- end -}}
{{- end -}}

{{/* The configuration file: the settings from the values, and the paths of the secrets. */}}
{{- define "gitoggle.config" -}}
{{- $config := deepCopy .Values.config -}}
{{- if .Values.sidecar.enabled -}}
{{- $_ := set $config "repo" "/git/current" -}}
{{- /* The temporary volume does not know which commits the checkout had before a restart. A rewritten history would be held
then. With several replicas, the one whose checkout lags behind must not follow it. */ -}}
{{- if not (or .Values.persistence.enabled $config.history (gt (int .Values.replicas) 1)) -}}
{{- $_ := set $config "history" "follow" -}}
{{- end -}}
{{- end -}}
{{- range $setting, $key := include "gitoggle.secrets" . | fromYaml -}}
{{- $_ := set $config (printf "%s_file" $setting) (printf "/run/secrets/gitoggle/%s" $key) -}}
{{- end -}}
{{- if .Values.ca.configMapName -}}
{{- $_ := set $config "ca_file" (printf "/etc/gitoggle-ca/%s" .Values.ca.key) -}}
{{- end -}}
{{- toYaml $config -}}
{{- end -}}
