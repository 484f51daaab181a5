export const reasons = {
  CONFLICT: {
    NOTE_LIMIT_REACHED: 'The contact has as many notes as it can have. Delete some first.',
  },
} as const;

declare module '#libs/rpc' {
  interface ModuleReasons {
    notes: typeof reasons;
  }
}
