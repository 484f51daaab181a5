export const reasons = {
  INSUFFICIENT_PERMISSIONS: {
    KEY_EXCEEDS_YOURS:
      'The API key to create, rotate or revoke has more permissions than the one you use. Request fewer, or use a key that has them all.',
  },
  CONFLICT: {
    KEY_ENDED: 'The API key to rotate was revoked or has expired. Create a new one.',
    KEY_ROTATED:
      'The API key was already rotated. error.message names its successor. Rotate that one, or revoke this one.',
    KEY_LIMIT_REACHED:
      'Your organization has reached its limit of API keys. Revoke one that you no longer need.',
  },
} as const;

declare module '#libs/rpc' {
  interface ModuleReasons {
    auth: typeof reasons;
  }
}
