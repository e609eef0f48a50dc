# This Rack example receives webhooks from Hooklatch. It verifies the signature
# and applies each webhook-id once. In config.ru: run Receiver. In a Rails
# controller give verify request.raw_post as the body.
require "base64"
require "openssl"

TOLERANCE = 300 # seconds
KEY = Base64.strict_decode64(ENV.fetch("APP_SECRET").delete_prefix("whsec_"))

# Checks the signature over the bytes as received. Parse them afterwards.
def verify(id, timestamp, signatures, body)
  return false unless timestamp.match?(/\A\d+\z/) && (Time.now.to_i - timestamp.to_i).abs <= TOLERANCE

  mac = OpenSSL::HMAC.digest("SHA256", KEY, "#{id}.#{timestamp}.".b + body.b)
  want = "v1,#{Base64.strict_encode64(mac)}"
  # During a secret rotation, the header has several signatures: one must match.
  signatures.split.any? { |given| OpenSSL.secure_compare(given, want) }
end

Receiver = lambda do |env|
  id = env["HTTP_WEBHOOK_ID"].to_s
  body = env["rack.input"].read
  unless verify(id, env["HTTP_WEBHOOK_TIMESTAMP"].to_s, env["HTTP_WEBHOOK_SIGNATURE"].to_s, body)
    next [401, {}, ["unauthorized\n"]]
  end

  ActiveRecord::Base.transaction do
    # webhook_id is unique: no row back means that it was applied before.
    fresh = AppliedWebhook.insert({ webhook_id: id }, unique_by: :webhook_id, returning: :webhook_id).any?
    apply(body) if fresh
  end
  [204, {}, []] # a duplicate gets the same response
end
