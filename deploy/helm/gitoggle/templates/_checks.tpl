{{/* Refuses values that contradict each other, with the way out. */}}
{{- define "gitoggle.check" -}}
{{- $sidecar := .Values.sidecar.enabled -}}
{{- $config := .Values.config -}}
{{- $keys := .Values.secret.keys -}}
{{- $_ := required "config.base_url: set the base URL of the service" $config.base_url -}}
{{- $_ := required "secret.keys.token: set the key of the Secret that contains the service's token" $keys.token -}}
{{- if not (or .Values.persistence.enabled $config.state_remote) -}}
{{- fail "persistence.enabled: without a volume, set config.state_remote; otherwise every restart is a first pass" -}}
{{- end -}}
{{- if $sidecar -}}
{{- $_ := required "sidecar.repo: set the repository that git-sync follows" .Values.sidecar.repo -}}
{{- if $config.repo -}}
{{- fail "config.repo: with the sidecar, git-sync follows sidecar.repo; leave config.repo empty" -}}
{{- end -}}
{{- if $config.ref -}}
{{- fail "config.ref: the checkout of git-sync has no branches; set sidecar.ref instead" -}}
{{- end -}}
{{- if $keys.webhook_secret -}}
{{- fail "secret.keys.webhook_secret: git-sync fetches every sidecar.period, so a webhook has no effect; leave it empty" -}}
{{- end -}}
{{- if eq .Values.mode "cronjob" -}}
{{- fail "sidecar.enabled: a CronJob ends, but git-sync does not; set config.repo instead" -}}
{{- end -}}
{{- if ne (empty .Values.sidecar.username) (empty $keys.git_password) -}}
{{- fail "sidecar.username: git-sync uses it together with secret.keys.git_password; set both or neither" -}}
{{- end -}}
{{- else -}}
{{- $_ := required "config.repo: set the repository of the documents" $config.repo -}}
{{- end -}}
{{- if or .Values.ingress.enabled .Values.httpRoute.enabled -}}
{{- if or (eq .Values.mode "cronjob") (not $keys.webhook_secret) -}}
{{- fail "ingress.enabled, httpRoute.enabled: they expose only webhooks; set mode: daemon and secret.keys.webhook_secret" -}}
{{- end -}}
{{- end -}}
{{- if .Values.ingress.enabled -}}
{{- $_ := required "ingress.host: set the host of the webhooks" .Values.ingress.host -}}
{{- end -}}
{{- if .Values.httpRoute.enabled -}}
{{- if not .Values.httpRoute.parentRefs -}}
{{- fail "httpRoute.parentRefs: name the gateway" -}}
{{- end -}}
{{- end -}}
{{- if and .Values.serviceMonitor.enabled (eq .Values.mode "cronjob") -}}
{{- fail "serviceMonitor.enabled: a CronJob has no metrics; prometheusRule.enabled has alerts that use kube-state-metrics" -}}
{{- end -}}
{{- if gt (int .Values.replicas) 1 -}}
{{- if eq .Values.mode "cronjob" -}}
{{- fail "replicas: a CronJob makes one pass at a time; set replicas to 1" -}}
{{- end -}}
{{- if not $config.state_remote -}}
{{- fail "replicas: several replicas share their state in a Git repository; set config.state_remote" -}}
{{- end -}}
{{- if .Values.persistence.existingClaim -}}
{{- fail "persistence.existingClaim: several replicas need a volume each; leave it empty" -}}
{{- end -}}
{{- if and $sidecar (eq (default "" $config.history) "follow") -}}
{{- fail "config.history: with several checkouts, the one that lags behind would be followed; leave it out" -}}
{{- end -}}
{{- end -}}
{{- end -}}
