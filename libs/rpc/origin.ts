/** 1 to 65535. */
const PORT = '(?:[1-9]\\d{0,3}|[1-5]\\d{4}|6[0-4]\\d{3}|65[0-4]\\d\\d|655[0-2]\\d|6553[0-5])';

/** An origin exactly as browsers send it: lower case, no path, no default port, and https unless it is this machine. */
export const ORIGIN = new RegExp(
  `^(?:https://[a-z0-9-]+(?:\\.[a-z0-9-]+)*(?::(?!443$)${PORT})?|http://(?:localhost|127\\.0\\.0\\.1)(?::(?!80$)${PORT})?)$`,
);

/** The end of a sentence about an origin. */
export const ORIGIN_RULE =
  'must be the beginning of an address in lower case, like https://www.example.org, without a path or a default port. http is only accepted for localhost and 127.0.0.1';
