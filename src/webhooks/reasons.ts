export const reasons = {
  CONFLICT: {
    WEBHOOK_LIMIT_REACHED:
      'Your organization has reached its limit of webhooks. Delete one that you no longer need.',
  },
} as const;

declare module '#libs/rpc' {
  interface ModuleReasons {
    webhooks: typeof reasons;
  }
}
