<?php
// This example receives webhooks from Hooklatch. It verifies the signature and
// applies each webhook-id once.

const TOLERANCE = 300; // seconds

// Checks the signature over the bytes as received. Parse them afterwards.
function verify(string $key, string $id, string $timestamp, string $signatures, string $body): bool
{
    if (!ctype_digit($timestamp) || abs(time() - (int) $timestamp) > TOLERANCE) {
        return false;
    }
    $want = 'v1,' . base64_encode(hash_hmac('sha256', "$id.$timestamp.$body", $key, true));
    // During a secret rotation, the header has several signatures: one must match.
    foreach (explode(' ', $signatures) as $given) {
        if (hash_equals($want, $given)) {
            return true;
        }
    }
    return false;
}

$key = base64_decode(preg_replace('/^whsec_/', '', getenv('APP_SECRET')), true);
$body = file_get_contents('php://input'); // not $_POST
$id = $_SERVER['HTTP_WEBHOOK_ID'] ?? '';
if (!verify($key, $id, $_SERVER['HTTP_WEBHOOK_TIMESTAMP'] ?? '', $_SERVER['HTTP_WEBHOOK_SIGNATURE'] ?? '', $body)) {
    http_response_code(401);
    exit;
}

$pdo = new PDO(getenv('DATABASE_DSN'), options: [PDO::ATTR_ERRMODE => PDO::ERRMODE_EXCEPTION]);
$pdo->beginTransaction();
$insert = $pdo->prepare('INSERT INTO applied_webhooks (webhook_id) VALUES (?) ON CONFLICT DO NOTHING');
$insert->execute([$id]);
if ($insert->rowCount() === 1) { // otherwise it was applied before
    apply($pdo, $body); // your own writes, with the same connection
}
$pdo->commit();
http_response_code(204); // a duplicate gets the same response
