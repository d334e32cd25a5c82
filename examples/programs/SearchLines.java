// Reads one query per line as JSON, and writes one answer per line. Search.search is your own.
import com.google.gson.Gson;
import com.google.gson.JsonObject;
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;

public class SearchLines {
    public static void main(String[] args) throws Exception {
        var gson = new Gson();
        var in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        var out = new PrintStream(System.out, true, StandardCharsets.UTF_8); // true: flushed
        for (String line; (line = in.readLine()) != null; ) {
            var request = gson.fromJson(line, JsonObject.class);
            var answer = new JsonObject();
            answer.add("id", request.get("id"));
            var hits = Search.search(request.get("query").getAsString(), request.get("k").getAsInt());
            answer.add("hits", gson.toJsonTree(hits));
            out.println(gson.toJson(answer));
        }
    }
}
