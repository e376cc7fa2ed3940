{{/* The metadata and spec of a pod. Takes a dict with `root`, `args`, and for the daemon `serves: true`. */}}
{{- define "gitoggle.pod" -}}
{{- $ := .root -}}
{{- include "gitoggle.check" $ -}}
metadata:
  annotations:
    checksum/config: {{ include "gitoggle.config" $ | sha256sum }}
    {{- with $.Values.podAnnotations }}
    {{- toYaml . | nindent 4 }}
    {{- end }}
  labels:
    {{- include "gitoggle.labels" $ | nindent 4 }}
    {{- with $.Values.podLabels }}
    {{- toYaml . | nindent 4 }}
    {{- end }}
spec:
  {{- if not .serves }}
  restartPolicy: Never
  {{- end }}
  serviceAccountName: {{ include "gitoggle.serviceAccountName" $ }}
  automountServiceAccountToken: false
  enableServiceLinks: false
  # On SIGTERM, gitoggle waits up to 25 s for open requests.
  terminationGracePeriodSeconds: 30
  {{- with $.Values.imagePullSecrets }}
  imagePullSecrets: {{- toYaml . | nindent 4 }}
  {{- end }}
  {{- with $.Values.priorityClassName }}
  priorityClassName: {{ . }}
  {{- end }}
  {{- with $.Values.nodeSelector }}
  nodeSelector: {{- toYaml . | nindent 4 }}
  {{- end }}
  {{- with $.Values.tolerations }}
  tolerations: {{- toYaml . | nindent 4 }}
  {{- end }}
  {{- with $.Values.affinity }}
  affinity: {{- toYaml . | nindent 4 }}
  {{- end }}
  {{- if $.Values.topologySpreadConstraints }}
  topologySpreadConstraints: {{- toYaml $.Values.topologySpreadConstraints | nindent 4 }}
  {{- else if and .serves (gt (int $.Values.replicas) 1) }}
  topologySpreadConstraints:
    - maxSkew: 1
      topologyKey: kubernetes.io/hostname
      whenUnsatisfiable: ScheduleAnyway
      labelSelector:
        matchLabels: {{- include "gitoggle.selector" $ | nindent 10 }}
  {{- end }}
  {{- with $.Values.podSecurityContext }}
  securityContext: {{- toYaml . | nindent 4 }}
  {{- end }}
  {{- if $.Values.sidecar.enabled }}
  initContainers:
    {{- include "gitoggle.gitSync" $ | nindent 4 }}
  {{- end }}
  containers:
    - name: gitoggle
      image: {{ include "gitoggle.image" $ | quote }}
      imagePullPolicy: {{ $.Values.image.pullPolicy }}
      args: {{- toYaml .args | nindent 8 }}
      # Not `/`: gitoggle trusts a configuration file less if it is in a repository around the working directory.
      workingDir: /var/lib/gitoggle
      # Variables instead of flags, so that `kubectl exec … gitoggle status` works as it stands.
      env:
        - { name: GITOGGLE_CONFIG, value: /etc/gitoggle/config.yaml }
        - { name: GITOGGLE_STATE_DIR, value: /var/lib/gitoggle }
        - { name: HOME, value: /home/gitoggle }
        {{- if .serves }}
        - { name: GITOGGLE_LISTEN, value: "[::]:8077" }
        {{- end }}
        {{- with $.Values.extraEnv }}
        {{- toYaml . | nindent 8 }}
        {{- end }}
      {{- with $.Values.extraEnvFrom }}
      envFrom: {{- toYaml . | nindent 8 }}
      {{- end }}
      {{- if .serves }}
      ports:
        - { name: http, containerPort: 8077 }
      startupProbe:
        httpGet: { path: /healthz, port: http }
        periodSeconds: 2
        failureThreshold: 30
      livenessProbe:
        httpGet: { path: /healthz, port: http }
        periodSeconds: 20
        timeoutSeconds: 5
      readinessProbe:
        httpGet: { path: /readyz, port: http }
        periodSeconds: 10
        timeoutSeconds: 5
      {{- end }}
      resources: {{- toYaml $.Values.resources | nindent 8 }}
      {{- with $.Values.securityContext }}
      securityContext: {{- toYaml . | nindent 8 }}
      {{- end }}
      volumeMounts:
        - { name: config, mountPath: /etc/gitoggle, readOnly: true }
        - { name: secrets, mountPath: /run/secrets/gitoggle, readOnly: true }
        - { name: state, mountPath: /var/lib/gitoggle }
        - { name: tmp, mountPath: /tmp }
        {{- if $.Values.sidecar.enabled }}
        - { name: git, mountPath: /git, readOnly: true }
        {{- end }}
        {{- if $.Values.ssh.secretName }}
        - { name: ssh, mountPath: /home/gitoggle/.ssh, readOnly: true }
        {{- end }}
        {{- if $.Values.ca.configMapName }}
        - { name: ca, mountPath: /etc/gitoggle-ca, readOnly: true }
        {{- end }}
        {{- with $.Values.extraVolumeMounts }}
        {{- toYaml . | nindent 8 }}
        {{- end }}
  volumes:
    {{- include "gitoggle.volumes" $ | nindent 4 }}
{{- end -}}

{{- define "gitoggle.volumes" -}}
- name: config
  configMap: { name: {{ include "gitoggle.fullname" . }} }
# 288 is 0440: readable by the group, which is gitoggle's.
- name: secrets
  secret:
    secretName: {{ .Values.secret.name }}
    defaultMode: 288
    items:
      {{- range $key := include "gitoggle.secrets" . | fromYaml | values | uniq | sortAlpha }}
      - { key: {{ $key }}, path: {{ $key }} }
      {{- end }}
{{- if not .Values.persistence.enabled }}
- name: state
  emptyDir: { sizeLimit: {{ .Values.persistence.size }} }
{{- else if ne (include "gitoggle.kind" .) "StatefulSet" }}
- name: state
  persistentVolumeClaim:
    claimName: {{ .Values.persistence.existingClaim | default (printf "%s-state" (include "gitoggle.fullname" .)) }}
{{- end }}
- name: tmp
  emptyDir: { sizeLimit: 64Mi }
{{- if .Values.ssh.secretName }}
- name: ssh
  secret: { secretName: {{ .Values.ssh.secretName }}, defaultMode: 288 }
{{- end }}
{{- if .Values.ca.configMapName }}
- name: ca
  configMap: { name: {{ .Values.ca.configMapName }} }
{{- end }}
{{- if .Values.sidecar.enabled }}
- name: git
  emptyDir: { sizeLimit: 1Gi }
- name: git-sync-tmp
  emptyDir: { sizeLimit: 64Mi }
{{- with .Values.secret.keys.git_password }}
# git-sync has no use for the token.
- name: git-secret
  secret:
    secretName: {{ $.Values.secret.name }}
    defaultMode: 288
    items: [{ key: {{ . }}, path: {{ . }} }]
{{- end }}
{{- end }}
{{- with .Values.extraVolumes }}
{{ toYaml . }}
{{- end }}
{{- end -}}

{{- define "gitoggle.gitSync" -}}
- name: git-sync
  image: {{ .Values.sidecar.image | quote }}
  # Starts before gitoggle and keeps running (a native sidecar).
  restartPolicy: Always
  args:
    - --repo={{ .Values.sidecar.repo }}
    - --ref={{ .Values.sidecar.ref }}
    # The complete history: the comment of a change is the message of its commit.
    - --depth=0
    - --root=/git
    - --link=current
    - --period={{ .Values.sidecar.period }}
    - --max-failures=-1
    - --submodules=off
    - --http-bind=:9079
    - --http-metrics
    {{- with .Values.sidecar.username }}
    - --username={{ . }}
    {{- end }}
    {{- with .Values.secret.keys.git_password }}
    - --password-file=/run/secrets/git/{{ . }}
    {{- end }}
    {{- if .Values.ssh.secretName }}
    - --ssh-key-file=/run/secrets/ssh/id_ed25519
    - --ssh-known-hosts-file=/run/secrets/ssh/known_hosts
    {{- end }}
  {{- with .Values.sidecar.extraEnv }}
  env: {{- toYaml . | nindent 4 }}
  {{- end }}
  ports:
    - { name: git-sync, containerPort: 9079 }
  # Returns 200 once a checkout exists.
  startupProbe:
    httpGet: { path: /, port: git-sync }
    periodSeconds: 2
    failureThreshold: 150
  livenessProbe:
    httpGet: { path: /, port: git-sync }
    periodSeconds: 20
    timeoutSeconds: 5
  resources: {{- toYaml .Values.sidecar.resources | nindent 4 }}
  {{- with .Values.sidecar.securityContext }}
  securityContext: {{- toYaml . | nindent 4 }}
  {{- end }}
  volumeMounts:
    - { name: git, mountPath: /git }
    - { name: git-sync-tmp, mountPath: /tmp }
    {{- if .Values.secret.keys.git_password }}
    - { name: git-secret, mountPath: /run/secrets/git, readOnly: true }
    {{- end }}
    {{- if .Values.ssh.secretName }}
    - { name: ssh, mountPath: /run/secrets/ssh, readOnly: true }
    {{- end }}
{{- end -}}
