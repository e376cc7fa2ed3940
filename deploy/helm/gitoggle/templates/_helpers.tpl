{{- define "gitoggle.fullname" -}}
{{- if contains .Chart.Name .Release.Name -}}
{{- .Release.Name | trunc 53 | trimSuffix "-" -}}
{{- else -}}
{{- printf "%s-%s" .Release.Name .Chart.Name | trunc 53 | trimSuffix "-" -}}
{{- end -}}
{{- end -}}

{{- define "gitoggle.selector" -}}
app.kubernetes.io/name: {{ .Chart.Name }}
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end -}}

{{- define "gitoggle.labels" -}}
{{ include "gitoggle.selector" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" }}
{{- end -}}

{{- define "gitoggle.serviceAccountName" -}}
{{- if .Values.serviceAccount.create -}}
{{- .Values.serviceAccount.name | default (include "gitoggle.fullname" .) -}}
{{- else -}}
{{- .Values.serviceAccount.name | default "default" -}}
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
{{- $_ := required "config.base_url: set the base URL of the service" .Values.config.base_url -}}
{{- $_ := required "secret.keys.token: set the key of the Secret that contains the service's token" .Values.secret.keys.token -}}
{{- if .Values.sidecar.enabled -}}
{{- $_ := required "sidecar.repo: set the repository that git-sync follows" .Values.sidecar.repo -}}
{{- $_ := set $config "repo" "/git/current" -}}
{{- else -}}
{{- $_ := required "config.repo: set the repository of the documents" .Values.config.repo -}}
{{- end -}}
{{- if not (or .Values.persistence.enabled .Values.config.state_remote) -}}
{{- fail "persistence.enabled: without a volume, set config.state_remote; otherwise every restart is a first pass" -}}
{{- end -}}
{{- range $setting, $key := include "gitoggle.secrets" . | fromYaml -}}
{{- $_ := set $config (printf "%s_file" $setting) (printf "/run/secrets/gitoggle/%s" $key) -}}
{{- end -}}
{{- if .Values.ca.configMapName -}}
{{- $_ := set $config "ca_file" (printf "/etc/gitoggle-ca/%s" .Values.ca.key) -}}
{{- end -}}
{{- toYaml $config -}}
{{- end -}}
