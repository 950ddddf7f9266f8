// Uses the classes of Java that depend on the system. It fails if a result is wrong.

import com.sun.net.httpserver.HttpServer;
import java.awt.image.BufferedImage;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.NetworkInterface;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.time.ZoneId;
import java.time.ZonedDateTime;
import java.util.Collections;
import java.util.stream.IntStream;
import javax.net.ssl.SSLContext;

public class Standard {
    static void check(String name, boolean isRight) {
        if (!isRight) throw new AssertionError(name);
    }

    public static void main(String[] arguments) throws Exception {
        HttpServer server = HttpServer.create(new InetSocketAddress("localhost", 0), 0);
        server.createContext("/", exchange -> {
            exchange.sendResponseHeaders(200, 4);
            exchange.getResponseBody().write("text".getBytes());
            exchange.close();
        });
        server.start();
        URI url = URI.create("http://localhost:" + server.getAddress().getPort() + "/");
        HttpRequest request = HttpRequest.newBuilder(url).build();
        HttpClient client = HttpClient.newHttpClient();
        String body = client.send(request, HttpResponse.BodyHandlers.ofString()).body();
        check("HTTP", body.equals("text"));
        server.stop(0);

        Path directory = Files.createTempDirectory("standard");
        Path file = Files.writeString(directory.resolve("file"), "x");
        Files.copy(file, directory.resolve("copy"));
        check("files", Files.list(directory).count() == 2);
        try (FileChannel from = FileChannel.open(file,
                        StandardOpenOption.READ, StandardOpenOption.WRITE);
                FileChannel to = FileChannel.open(directory.resolve("to"),
                        StandardOpenOption.CREATE, StandardOpenOption.WRITE)) {
            check("lock", from.lock().isValid());
            check("transfer", from.transferTo(0, 1, to) == 1);
            check("map", from.map(FileChannel.MapMode.READ_WRITE, 0, 100).capacity() == 100);
            from.force(true);
        }

        check("threads", IntStream.range(0, 100000).parallel().asLongStream().sum() == 4999950000L);
        check("interfaces", Collections.list(NetworkInterface.getNetworkInterfaces()).size() == 1);
        check("host name", !InetAddress.getLocalHost().getHostName().isEmpty());
        Process child = new ProcessBuilder("sh", "-c", "exit 3").start();
        check("process", child.waitFor() == 3);
        ZonedDateTime summer = ZonedDateTime.of(2026, 7, 1, 0, 0, 0, 0, ZoneId.of("Europe/Berlin"));
        check("time zone", summer.getOffset().getTotalSeconds() == 7200);
        check("TLS", SSLContext.getDefault().getProtocol().equals("Default"));
        BufferedImage image = new BufferedImage(50, 50, BufferedImage.TYPE_INT_RGB);
        image.createGraphics().drawString("Text", 5, 20);
        int[] pixels = image.getRGB(0, 0, 50, 50, null, 0, 50);
        check("fonts", IntStream.of(pixels).distinct().count() > 1);
        check("user", !System.getProperty("user.name").equals("?"));
    }
}
