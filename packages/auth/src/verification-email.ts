/** A mail, ready to be sent. */
export interface EmailText {
  readonly subject: string;
  readonly content: string;
  /** Plain text by default. */
  readonly isHtml?: boolean;
}

/** Words the mail that carries a verification code. Replace it to speak another language, or with another voice. */
export type VerificationEmail = (code: string, validMinutes: number) => EmailText;

export const verificationEmail: VerificationEmail = (code, validMinutes) => ({
  subject: 'Your verification code',
  content:
    `Your verification code is ${code}.\n\n` +
    `It is valid for ${validMinutes} minutes and can be used once.\n` +
    'If you did not ask for it, you can ignore this mail.\n',
});
