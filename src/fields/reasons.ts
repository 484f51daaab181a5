export const reasons = {
  CONFLICT: {
    FIELD_LIMIT_REACHED:
      'Your organization has reached its limit of custom fields. Delete one that you no longer need.',
    OPTION_IN_USE:
      'Some contacts have the option that you are removing as their value. error.message states how many. Give them another value first.',
  },
} as const;

declare module '#libs/rpc' {
  interface ModuleReasons {
    fields: typeof reasons;
  }
}
