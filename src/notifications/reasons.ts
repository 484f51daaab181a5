export const reasons = {
  INSUFFICIENT_PERMISSIONS: {
    NOT_YOUR_SETTINGS:
      'These are the notification settings of another member. Only members who may change the team can see and change them.',
  },
} as const;

declare module '#libs/rpc' {
  interface ModuleReasons {
    notifications: typeof reasons;
  }
}
