{{- define "hooklatch.name" -}}
{{- if contains .Chart.Name .Release.Name }}{{ .Release.Name }}{{ else }}{{ .Release.Name }}-{{ .Chart.Name }}{{ end -}}
{{- end }}

{{- /* Labels that select pods never change: a Deployment's selector is immutable. */}}
{{- define "hooklatch.selector" -}}
app.kubernetes.io/name: hooklatch
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}

{{- define "hooklatch.labels" -}}
{{ include "hooklatch.selector" . }}
app.kubernetes.io/version: {{ .Values.image.tag | default .Chart.AppVersion | quote }}
{{- end }}

{{- define "hooklatch.config" -}}
{{- $config := mergeOverwrite (deepCopy .Values.config) (dict "gateway" (dict "listen" ":8080") "admin" (dict "listen" ":8081")) }}
{{- /* Helm merges the default token into the given values, but Hooklatch refuses token together with token_file. */}}
{{- if $config.admin.token_file }}{{ $_ := unset $config.admin "token" }}{{ end }}
{{- toYaml $config }}
{{- end }}

{{- /* The scheme of the admin listener: empty for HTTP, the default of probes. */}}
{{- define "hooklatch.adminScheme" -}}
{{- if ((.Values.config).admin).tls }}HTTPS{{ end }}
{{- end }}

{{- /* The spec of a pod without its containers. The argument has root and volumes. */}}
{{- define "hooklatch.pod" -}}
serviceAccountName: {{ include "hooklatch.name" .root }}
automountServiceAccountToken: false
enableServiceLinks: false
{{- with .root.Values.image.pullSecrets }}
imagePullSecrets:
  {{- range . }}
  - name: {{ . }}
  {{- end }}
{{- end }}
securityContext:
  runAsNonRoot: true
  runAsUser: 65532
  runAsGroup: 65532
  fsGroup: 65532
  seccompProfile:
    type: RuntimeDefault
volumes:
  - name: config
    configMap:
      name: {{ include "hooklatch.name" .root }}
  {{- with .root.Values.secretFiles }}
  - name: secrets
    secret:
      secretName: {{ . }}
      defaultMode: 0440
  {{- end }}
  {{- with .volumes }}
  {{- toYaml . | nindent 2 }}
  {{- end }}
{{- end }}

{{- /* The fields of all containers. The argument has root, secret, volumeMounts and resources. */}}
{{- define "hooklatch.container" -}}
image: {{ .root.Values.image.repository }}:{{ .root.Values.image.tag | default .root.Chart.AppVersion }}
imagePullPolicy: {{ .root.Values.image.pullPolicy }}
envFrom:
  - secretRef:
      name: {{ .root.Values.secret }}
  {{- with .secret }}
  # If both Secrets contain a variable, the container gets the value in this one.
  - secretRef:
      name: {{ . }}
  {{- end }}
volumeMounts:
  - name: config
    mountPath: /etc/hooklatch
    readOnly: true
  {{- if .root.Values.secretFiles }}
  - name: secrets
    mountPath: /run/secrets/hooklatch
    readOnly: true
  {{- end }}
  {{- with .volumeMounts }}
  {{- toYaml . | nindent 2 }}
  {{- end }}
securityContext:
  allowPrivilegeEscalation: false
  privileged: false
  readOnlyRootFilesystem: true
  capabilities:
    drop: [ALL]
{{- with .resources }}
resources: {{- toYaml . | nindent 2 }}
{{- end }}
{{- end }}
