package diwan.objects;

import java.io.ByteArrayInputStream;
import java.io.EOFException;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.GeneralSecurityException;
import java.security.KeyFactory;
import java.security.KeyStore;
import java.security.PrivateKey;
import java.security.cert.Certificate;
import java.security.cert.CertificateFactory;
import java.security.spec.InvalidKeySpecException;
import java.security.spec.PKCS8EncodedKeySpec;
import java.util.Base64;
import java.util.Collection;
import javax.net.ssl.KeyManagerFactory;
import javax.net.ssl.SSLContext;
import javax.net.ssl.SSLException;
import javax.net.ssl.SSLHandshakeException;
import javax.net.ssl.SSLPeerUnverifiedException;
import javax.net.ssl.TrustManagerFactory;

/** Makes an {@link SSLContext} of PEM files, as the servers have them. */
public final class Tls {
    private static final String BEGIN = "-----BEGIN PRIVATE KEY-----";
    private static final String END = "-----END PRIVATE KEY-----";

    /** What is said of a server that answers in plain text. */
    private static final String NO_TLS = "Unsupported or unrecognized SSL message";

    private Tls() {}

    /** Trusts the authorities in that file. */
    public static SSLContext of(Path authorities) {
        return of(authorities, null);
    }

    /** The same, and shows the certificate in the other file, where its key is, too (PKCS #8, without a password). */
    public static SSLContext of(Path authorities, Path certificate) {
        try {
            KeyStore trusted = empty();
            int count = 0;
            for (Certificate authority : certificates(authorities)) trusted.setCertificateEntry("ca" + count++, authority);
            TrustManagerFactory trust = TrustManagerFactory.getInstance(TrustManagerFactory.getDefaultAlgorithm());
            trust.init(trusted);
            KeyManagerFactory keys = null;
            if (certificate != null) {
                KeyStore own = empty();
                Certificate[] chain = certificates(certificate).toArray(new Certificate[0]);
                own.setKeyEntry("own", key(certificate), new char[0], chain);
                keys = KeyManagerFactory.getInstance(KeyManagerFactory.getDefaultAlgorithm());
                keys.init(own, new char[0]);
            }
            SSLContext context = SSLContext.getInstance("TLS");
            context.init(keys == null ? null : keys.getKeyManagers(), trust.getTrustManagers(), null);
            return context;
        } catch (IOException unreadable) {
            throw new UncheckedIOException(unreadable);
        } catch (GeneralSecurityException unusable) {
            throw new IllegalArgumentException(authorities + ", " + certificate + ": " + unusable.getMessage(), unusable);
        }
    }

    private static KeyStore empty() throws GeneralSecurityException, IOException {
        KeyStore store = KeyStore.getInstance("PKCS12");
        store.load(null, null);
        return store;
    }

    private static Collection<? extends Certificate> certificates(Path file) throws GeneralSecurityException, IOException {
        // Keys may stand between certificates, which Java's reader does not pass over.
        StringBuilder found = new StringBuilder();
        boolean within = false;
        for (String line : Files.readAllLines(file)) {
            within |= line.equals("-----BEGIN CERTIFICATE-----");
            if (within) found.append(line).append('\n');
            within &= !line.equals("-----END CERTIFICATE-----");
        }
        byte[] bytes = found.toString().getBytes(StandardCharsets.US_ASCII);
        return CertificateFactory.getInstance("X.509").generateCertificates(new ByteArrayInputStream(bytes));
    }

    private static PrivateKey key(Path file) throws GeneralSecurityException, IOException {
        String text = Files.readString(file);
        int begin = text.indexOf(BEGIN);
        int end = text.indexOf(END);
        if (begin < 0 || end < begin) throw new InvalidKeySpecException("there is no private key in " + file);
        byte[] bytes = Base64.getMimeDecoder().decode(text.substring(begin + BEGIN.length(), end));
        for (String algorithm : new String[] {"EC", "RSA", "Ed25519"}) {
            try {
                return KeyFactory.getInstance(algorithm).generatePrivate(new PKCS8EncodedKeySpec(bytes));
            } catch (InvalidKeySpecException other) {
                // Of another algorithm.
            }
        }
        throw new InvalidKeySpecException("its private key is neither EC, RSA nor Ed25519");
    }

    /** Whether one side refuses the other's certificate or encryption: nothing of a request was looked at then. */
    static boolean isRefused(Throwable error) {
        boolean isRefused = false;
        for (Throwable cause = error; cause != null; cause = cause.getCause()) {
            // It went away meanwhile: another member, or the same one later, may do better.
            if (cause instanceof EOFException) return false;
            isRefused |= cause instanceof SSLHandshakeException || cause instanceof SSLPeerUnverifiedException;
            isRefused |= cause instanceof SSLException && String.valueOf(cause.getMessage()).contains(NO_TLS);
        }
        return isRefused;
    }
}
