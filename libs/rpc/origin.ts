/** An origin exactly as browsers send it: lower case, no path, no default port, and https unless it is this machine. */
export const ORIGIN =
  /^(?:https:\/\/[a-z0-9-]+(?:\.[a-z0-9-]+)*(?::(?!443$)[1-9]\d{0,4})?|http:\/\/(?:localhost|127\.0\.0\.1)(?::(?!80$)[1-9]\d{0,4})?)$/;

/** The end of a sentence about an origin. */
export const ORIGIN_RULE =
  'must be the beginning of an address in lower case, like https://www.example.org, without a path or a default port. http is only accepted for localhost and 127.0.0.1';
